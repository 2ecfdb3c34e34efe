import { statfs } from 'node:fs/promises';
import { availableParallelism, totalmem } from 'node:os';
import { join } from 'node:path';
import { type QemuEngine, runProgram } from '@mayfly/server/machines';
import { type Announcer, formatElapsed, SetupError } from '../announce.ts';
import type { BuildPlan } from '../artifacts.ts';
import { type CacheEntry, entryLockPath, withStagingFolder } from '../cache/entry.ts';
import { hashValues } from '../cache/keys.ts';
import { tryLock } from '../cache/lock.ts';
import { projectRoot } from '../environment.ts';
import type { PreparedParts } from '../prepare.ts';
import { ensureOuterImage, type OuterImage } from './image.ts';
import { readConsoleTail, runOuterMachine } from './machine.ts';
import { mountPoint, writeRunDisk } from './run-disk.ts';

/** What runs in an outer machine. */
export interface OuterCommand {
  /** Arguments of bootstrap.mjs. */
  readonly args: readonly string[];
  readonly limitMs: number;
}

/** The exit code when the emulation failed, not a test: EX_TEMPFAIL of sysexits.h. */
export const inconclusiveExitCode = 75;

/** Runs a command of this checkout in an outer machine and returns its exit code, or the one for an inconclusive run. */
export async function runInOuterMachine(
  { binary, preloadPath }: Pick<QemuEngine, 'binary' | 'preloadPath'>,
  parts: PreparedParts,
  command: OuterCommand,
): Promise<number> {
  const { context } = parts;
  const { announcer } = context;
  await refuseSmallDisk(context.cacheDir);
  const image = await ensureOuterImage(context);
  const run: CacheEntry = { kind: 'outer-run', key: hashValues({ projectRoot }) };
  using lock = await tryLock(entryLockPath(context.cacheDir, run));
  if (!lock) throw new SetupError('Another npm run test:kvm of this checkout is running. Wait until it has ended.');
  for (let attempt = 1; ; attempt += 1) {
    const result = await withStagingFolder(context.cacheDir, run, (folder) =>
      runOnce({ binary, preloadPath, image, folder, parts, command }),
    );
    if (result.kind === 'ended') return result.code;
    announcer.line(`${result.reason} This is not a test failure.`);
    if (attempt === maxAttempts) return inconclusiveExitCode;
    announcer.line('The suites are run once more.');
  }
}

const maxAttempts = 2;

/** What an outer machine says about its command. */
type OuterVerdict =
  | { readonly kind: 'ended'; readonly code: number }
  /** Something failed for which the emulation is to blame. */
  | { readonly kind: 'inconclusive'; readonly reason: string };

interface OuterRun extends Pick<QemuEngine, 'binary' | 'preloadPath'> {
  readonly image: OuterImage;
  /** Empty; for the disks and the log of this run. */
  readonly folder: string;
  readonly parts: PreparedParts;
  readonly command: OuterCommand;
}

/** Runs the command in a new outer machine. */
async function runOnce({ binary, preloadPath, image, folder, parts, command }: OuterRun): Promise<OuterVerdict> {
  const { context } = parts;
  const { announcer } = context;
  const consolePath = join(folder, 'console.log');
  const plan = {
    arch: context.arch,
    ...outerSize(),
    kernelPath: image.kernelPath,
    rootPath: join(folder, 'root.qcow2'),
    runDiskPath: join(folder, 'run.raw'),
    consolePath,
    resultPath: join(folder, 'result'),
  };
  await runProgram('qemu-img', ['create', '-q', '-f', 'qcow2', '-F', 'raw', '-b', image.diskPath, plan.rootPath]);
  await announcer.step('disk with the checkout and the guest image', () =>
    writeRunDisk(plan.runDiskPath, join(folder, 'run'), runDiskContents(parts, command.args), context.signal),
  );
  announcer.line(
    `▸ outer machine: ${plan.cpus} CPUs, ${plan.memoryMib} MiB, at most ${command.limitMs / 60_000} minutes`,
  );
  using progress = relayLines(announcer);
  const { limitMs: deadlineMs } = command;
  const machine = { binary, preloadPath, deadlineMs, signal: context.signal, onLine: progress.onLine };
  const result = await runOuterMachine(plan, machine);
  if (result.kind === 'exited') return judgeExit(result.code, progress.emulationFailure());
  const reason =
    result.kind === 'out of time'
      ? 'The outer machine did not finish in time. Allow more with --minutes.'
      : `The outer machine ended without a result. ${result.reason}`;
  announcer.line(`${reason}\nLast kernel messages of the outer machine:\n${await readConsoleTail(consolePath)}`);
  return { kind: 'ended', code: 1 };
}

const mib = 2 ** 20;

/** The suites need 4 GiB; more than 8 are of no use. */
function outerSize(): { readonly cpus: number; readonly memoryMib: number } {
  const memoryMib = Math.min(8192, Math.floor(totalmem() / mib / 2));
  if (memoryMib < 4096) {
    throw new SetupError('The outer machine needs 4 GiB of memory, half of what the host has. Use a larger machine.');
  }
  return { cpus: Math.max(2, Math.min(4, availableParallelism())), memoryMib };
}

/** For the disks of a run; the image is part of it the first time. */
const neededDiskBytes = 12 * 2 ** 30;

async function refuseSmallDisk(cacheDir: string): Promise<void> {
  const { bavail, bsize } = await statfs(cacheDir);
  if (bavail * bsize >= neededDiskBytes) return;
  throw new SetupError(
    `The outer machine needs ${neededDiskBytes / 2 ** 30} GiB of free disk in ${cacheDir}. Free some space, or set MAYFLY_CACHE_DIR to a folder on a larger disk.`,
  );
}

function runDiskContents({ plan, context }: PreparedParts, args: readonly string[]) {
  const node = `node_modules/node-linux-${process.arch}/bin/node`;
  const words = [`./${node}`, 'bootstrap.mjs', ...args].map((word) => `'${word.replaceAll("'", "'\\''")}'`);
  const command = `export MAYFLY_CACHE_DIR=${mountPoint}/cache\nexec ${words.join(' ')}\n`;
  return { projectRoot, cacheDir: context.cacheDir, entries: builtEntries(plan), command };
}

function builtEntries({ kernel, agent, jail, net, ram, initramfs, disks }: BuildPlan): readonly CacheEntry[] {
  return [kernel, agent, jail, net, ram, initramfs, disks];
}

const silenceMs = 30_000;

interface Progress extends Disposable {
  readonly onLine: (line: string) => void;
  /** What the first line said that tells of a failure of the emulation. */
  readonly emulationFailure: () => string | undefined;
}

/** Prints the lines of the outer machine with the time, and says so when there were none for a while. */
function relayLines(announcer: Announcer): Progress {
  const startedMs = performance.now();
  const print = (text: string) =>
    announcer.line(`${formatElapsed(performance.now() - startedMs).padStart(12)} │ ${text}`);
  const timer = setInterval(() => print('…'), silenceMs);
  let failure: string | undefined;
  return {
    onLine: (line) => {
      timer.refresh();
      failure ??= findEmulationFailure(line);
      print(line.trimEnd());
    },
    emulationFailure: () => failure,
    [Symbol.dispose]: () => clearInterval(timer),
  };
}

/**
 * What a line of the outer machine says about a failure of the emulation: a failed check of V8's own, or an emulated KVM on which the guests'
 * kernel does not run, as QEMU's is for several CPUs on some hosts.
 */
export function findEmulationFailure(line: string): string | undefined {
  if (/^\s*# (Fatal error in |Check failed: )/.test(line))
    return `Node.js crashed in the outer machine (${line.trim()}).`;
  const [, reason] = /the guests' kernel does not run on it \((.*?)\)\. /.exec(line) ?? [];
  return reason === undefined ? undefined : `The guests' kernel does not run on the emulated KVM (${reason}).`;
}

/** The signals by which a process ends when it crashes: SIGILL, SIGTRAP, SIGABRT, SIGBUS and SIGSEGV. */
const crashSignals = [4, 5, 6, 7, 11];

/** Failed tests make the command exit with a small code. Under emulation, Node.js itself crashes now and then, in the test runner or in a service. */
export function judgeExit(code: number, emulationFailure: string | undefined): OuterVerdict {
  if (crashSignals.includes(code - 128)) {
    return { kind: 'inconclusive', reason: `The command in the outer machine was killed by signal ${code - 128}.` };
  }
  if (code !== 0 && emulationFailure !== undefined) return { kind: 'inconclusive', reason: emulationFailure };
  return { kind: 'ended', code };
}
