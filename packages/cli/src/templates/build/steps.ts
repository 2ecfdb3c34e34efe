import { createHash } from 'node:crypto';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { type CommandResult, ConnectionError, type RequestOptions, type Sandbox } from '@mayfly/sdk';
import { tarOf } from '../../archive/tar.ts';
import { Failure } from '../../cli-io.ts';
import { quote } from '../../quote.ts';
import type { FileTree } from '../files/file-tree.ts';
import type { CommandLine, Finish, Ready, RunStep } from '../recipe/recipe.ts';
import type { PreparedStep } from './plan.ts';

/** A step that did not succeed; exit code 1. */
export class StepFailure extends Failure {
  readonly commandExitCode: number | null;
  /** What the command printed on both streams. */
  readonly output: string;

  constructor(message: string, { execution, stdout, stderr }: CommandResult) {
    super(message, { exitCode: 1 });
    this.name = 'StepFailure';
    this.commandExitCode = execution.exitCode;
    this.output = stdout + stderr;
  }
}

/** Below the service's limit of 8 MiB per file. */
const partBytes = 4 * 1024 ** 2;
const uploadFolder = '/var/tmp/mayfly-build';
const startLog = '/var/tmp/mayfly-start.log';
const startStatus = '/var/tmp/mayfly-start.status';
const maintenanceTimeoutMs = 300_000;

/** Below the timeout of fetch in Node.js, which is 300 s. */
const uploadTimeoutMs = 290_000;

interface CommandRequest {
  readonly command: string;
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
}

/** Performs one step in a sandbox. Throws a StepFailure if it does not succeed. */
export async function performStep(sandbox: Sandbox, step: PreparedStep, options: RequestOptions): Promise<void> {
  if (step.kind === 'copy') await copyTree(sandbox, step.tree, options);
  else await runStep(sandbox, step, options);
}

async function runStep(
  sandbox: Sandbox,
  { command, cwd, env, timeoutMs }: RunStep,
  options: RequestOptions,
): Promise<void> {
  const result = await runCommand(sandbox, { command: inOneStream(command), cwd, env, timeoutMs }, options);
  expectSuccess(result, timeoutMs);
}

/** Runs a command to its end. It is started once. */
async function runCommand(
  sandbox: Sandbox,
  { command, ...request }: CommandRequest,
  options: RequestOptions,
): Promise<CommandResult> {
  try {
    return await sandbox.exec(command, { ...options, ...request });
  } catch (cause) {
    if (!(cause instanceof ConnectionError && cause.mayHaveHappened)) throw cause;
    const message = 'The connection to the service was lost during the step, and its result is not known. Build again.';
    throw new Failure(message, { cause, exitCode: 3, type: 'connection_failed' });
  }
}

/** Both streams in the order in which they were written. */
function inOneStream(command: string): string {
  return `exec 2>&1\n${command}`;
}

function expectSuccess(result: CommandResult, timeoutMs: number): void {
  if (result.status === 'timeout') {
    throw new StepFailure(`The step did not finish within ${timeoutMs / 1000} seconds. Raise its timeout.`, result);
  }
  if (result.ok) return;
  const memory = result.oomKilled ? ' The sandbox ran out of memory.' : '';
  throw new StepFailure(`The step failed with exit code ${result.exitCode}.${memory}`, result);
}

/** Sends an archive in parts and unpacks it. */
async function copyTree(sandbox: Sandbox, tree: FileTree, options: RequestOptions): Promise<void> {
  const hash = createHash('sha256');
  async function* hashed() {
    for await (const chunk of tarOf(tree.entries)) {
      hash.update(chunk);
      yield chunk;
    }
  }
  const archive = createGzip({ level: 5 });
  const written = pipeline(hashed(), archive);
  // A failure also ends the reading below, which reports it.
  written.catch(() => {});
  let parts = 0;
  for await (const part of inParts(archive as AsyncIterable<Buffer>)) {
    const path = `${uploadFolder}/${String(parts++).padStart(6, '0')}`;
    await sandbox.files.write(path, part, { ...options, requestTimeoutMs: uploadTimeoutMs });
  }
  await written;
  if (hash.digest('hex') !== tree.digest) {
    throw new Failure('Files of the recipe changed during the build. Build again.');
  }
  const folder = quote(tree.folder);
  // Folders that exist keep their mode and may be links; files get the time of the build.
  const unpack = `cat ${uploadFolder}/* | tar --extract --gzip --touch --no-same-owner --preserve-permissions --keep-directory-symlink --no-overwrite-dir --directory ${folder}`;
  const command = `set -eo pipefail\nmkdir -p -- ${folder}\n${unpack}\nrm -rf ${uploadFolder}`;
  const request = { command: inOneStream(command), timeoutMs: maintenanceTimeoutMs };
  const result = await runCommand(sandbox, request, options);
  expectSuccess(result, maintenanceTimeoutMs);
}

async function* inParts(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let pending: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of chunks) {
    pending.push(chunk);
    bytes += chunk.length;
    if (bytes < partBytes) continue;
    yield Buffer.concat(pending);
    pending = [];
    bytes = 0;
  }
  if (bytes > 0) yield Buffer.concat(pending);
}

/** Starts the recipe's command and waits until the sandbox is ready. Throws a StepFailure with what the command printed. */
export async function performFinish(sandbox: Sandbox, finish: Finish, options: RequestOptions): Promise<void> {
  const { start, ready, cwd, env } = finish;
  if (start !== undefined) await startInBackground(sandbox, { command: start, cwd, env }, options);
  if (ready) await waitUntilReady(sandbox, ready, { cwd, env }, options);
}

async function startInBackground(
  sandbox: Sandbox,
  { command, cwd, env }: CommandLine,
  options: RequestOptions,
): Promise<void> {
  const script = `rm -f ${startStatus}; (${'\n'}${command}${'\n'}); echo $? > ${startStatus}`;
  const background = `setsid bash -c ${quote(script)} > ${startLog} 2>&1 < /dev/null &`;
  const request = { command: `rm -f ${startStatus}\n${background}`, cwd, env, timeoutMs: maintenanceTimeoutMs };
  expectSuccess(await runCommand(sandbox, request, options), maintenanceTimeoutMs);
}

/** How long one request waits. The service limits the time of a command. */
const roundSeconds = 50;
const exitNotReady = 75;
const exitStartFailed = 76;

async function waitUntilReady(
  sandbox: Sandbox,
  { check, timeoutMs }: Ready,
  { cwd, env }: Omit<CommandLine, 'command'>,
  options: RequestOptions,
): Promise<void> {
  const condition = 'port' in check ? portListens(check.port) : `timeout 30 bash -c ${quote(check.command)}`;
  for (let leftSeconds = Math.ceil(timeoutMs / 1000); ; leftSeconds -= roundSeconds) {
    const seconds = Math.min(leftSeconds, roundSeconds);
    const command = waitLoop(condition, seconds);
    const result = await runCommand(sandbox, { command, cwd, env, timeoutMs: (seconds + 45) * 1000 }, options);
    if (result.exitCode === 0) return;
    if (result.exitCode === exitStartFailed) {
      throw new StepFailure('The start command failed before the sandbox was ready.', result);
    }
    if (result.exitCode === exitNotReady && leftSeconds > roundSeconds) continue;
    throw new StepFailure(`The sandbox was not ready within ${timeoutMs / 1000} seconds: ${describe(check)}.`, result);
  }
}

function describe(check: Ready['check']): string {
  return 'port' in check ? `nothing listens on port ${check.port}` : `\`${check.command}\` does not succeed`;
}

/** The kernel's tables are read instead of connecting, which some servers would count as a visit. */
function portListens(port: number): string {
  const hex = port.toString(16).toUpperCase().padStart(4, '0');
  return `grep -qsE ':${hex} [0-9A-F]+:0000 0A ' /proc/net/tcp /proc/net/tcp6`;
}

/** Tries the condition until it holds, the start command failed or the time is over. On failure it prints what the start command printed. */
function waitLoop(condition: string, seconds: number): string {
  return `attempt=$(mktemp)
until ${condition} > "$attempt" 2>&1; do
  code=0
  if [ -s ${startStatus} ] && [ "$(cat ${startStatus})" != 0 ]; then code=${exitStartFailed}
  elif [ "$SECONDS" -gt ${seconds} ]; then code=${exitNotReady}; fi
  if [ "$code" != 0 ]; then
    cat "$attempt"; rm -f "$attempt"
    [ ! -e ${startLog} ] || tail -n 100 ${startLog}
    exit "$code"
  fi
  sleep 0.2
done
rm -f "$attempt"`;
}
