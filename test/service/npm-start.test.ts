import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, describe, type ExpectStatic, it, type TestContext } from 'vitest';
import { createSandbox, deleteSandbox, output, type Target } from '../support/api-requests.ts';
import { hostState, leftSince } from '../support/host-state.ts';
import { machinePids, machineProcesses } from '../support/machine-processes.ts';
import { readPage, repositoryRoot, snippetsOf } from '../support/markdown.ts';
import { newServiceData, type ServiceData } from '../support/service-settings.ts';
import { childrenOf, commandOf, supervisedBy } from '../support/supervised-processes.ts';
import { needsTrustedCheckout } from '../support/trusted-checkout.ts';

const deadlineMs = 120_000;

needsTrustedCheckout();

/** Where one test runs `npm start`. */
interface Place {
  readonly expect: ExpectStatic;
  readonly data: ServiceData;
  /** Every npm that was started, also if the service never became ready. */
  readonly started: ChildProcess[];
  running: NpmStart | undefined;
}

/** A data folder for a test. What the test started on it is killed when it has finished. */
async function newPlace({ expect, onTestFinished }: TestContext): Promise<Place> {
  const place: Place = { expect, data: await newServiceData(), started: [], running: undefined };
  onTestFinished(async () => {
    const { data, started, running } = place;
    if (running && isAlive(running.supervisorPid)) process.kill(running.supervisorPid, 'SIGKILL');
    running?.npm.kill('SIGKILL');
    for (const pid of started.flatMap((npm) => [npm.pid ?? 0, ...descendantsOf(npm.pid ?? 0)])) kill(pid);
    await data.remove();
  });
  return place;
}

/** `npm start` of this checkout: npm, bootstrap.mjs and the supervisor, which runs the host process and the service. */
interface NpmStart extends Target {
  readonly npm: ChildProcess;
  readonly bootstrapPid: number;
  readonly supervisorPid: number;
  /** The host process and the service. */
  readonly supervised: readonly number[];
  /** Everything printed so far. */
  printed(): string;
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended.
  }
}

const key = 'mf_test_key_of_the_first_account';
/** Where the `mayfly` command is installed. */
const binDir = mkdtempSync(join(tmpdir(), 'mayfly-bin-'));
afterAll(() => rmSync(binDir, { recursive: true }));

/** Runs `npm start` and collects what it prints. */
function spawnNpm({ data, started }: Place, inTerminal = false) {
  const terminal = ['script', '--quiet', '--command', 'exec npm start', '/dev/null'];
  const [program = '', ...args] = inTerminal ? terminal : ['npm', 'start'];
  const npm = spawn(program, args, {
    cwd: repositoryRoot,
    stdio: 'pipe',
    env: {
      ...process.env,
      ...data.settings,
      MAYFLY_PORT: '0',
      MAYFLY_PREVIEW_PORT: '0',
      MAYFLY_POOL: 'none',
      MAYFLY_LOG_LEVEL: 'warn',
      MAYFLY_BOOTSTRAP_API_KEY: key,
      MAYFLY_BIN_DIR: binDir,
    },
  });
  started.push(npm);
  let text = '';
  for (const stream of [npm.stdout, npm.stderr]) stream.setEncoding('utf8').on('data', (part) => (text += part));
  return { npm, printed: () => text };
}

/** Runs `npm start` and waits until the service is ready. */
async function npmStart(place: Place, inTerminal = false): Promise<NpmStart> {
  const { npm, printed } = spawnNpm(place, inTerminal);
  const url = () => /^ {2}API +(\S+)\/v1\r?$/m.exec(printed())?.[1];
  await place.expect
    .poll(() => url() ?? (npm.exitCode === null ? 'starting' : `ended: ${printed()}`), { timeout: deadlineMs })
    .toMatch(/^http/);
  const pids = descendantsOf(npm.pid ?? 0);
  const bootstrapPid = pids.find((pid) => commandOf(pid).startsWith('node bootstrap.mjs')) ?? 0;
  const supervisorPid = pids.find((pid) => commandOf(pid).includes('setup/src/main.ts')) ?? 0;
  const { host = 0, service = 0 } = supervisedBy(supervisorPid);
  const start = {
    npm,
    bootstrapPid,
    supervisorPid,
    supervised: [host, service],
    url: url() ?? '',
    key,
    printed,
  };
  place.running = start;
  return start;
}

function descendantsOf(pid: number): number[] {
  return childrenOf(pid).flatMap((child) => [child, ...descendantsOf(child)]);
}

/** Whether a process exists and is not a zombie. */
function isAlive(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

/** Waits until npm, bootstrap.mjs, the supervisor and its processes have ended; the result is how npm ended. */
async function ended({ expect }: Place, start: NpmStart): Promise<number | NodeJS.Signals | null> {
  const { npm, bootstrapPid, supervisorPid, supervised } = start;
  if (npm.exitCode === null && npm.signalCode === null) {
    await once(npm, 'exit', { signal: AbortSignal.timeout(deadlineMs) });
  }
  const alive = () => [bootstrapPid, supervisorPid, ...supervised].filter(isAlive);
  await expect.poll(alive, { timeout: deadlineMs }).toEqual([]);
  return npm.exitCode ?? npm.signalCode;
}

/** Whether this process has CAP_SYS_RESOURCE. */
function mayLowerOomScore(): boolean {
  const bits = /^CapEff:\s+([0-9a-f]+)$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? '0';
  return (BigInt(`0x${bits}`) & (1n << 24n)) !== 0n;
}

function timesStopped(start: NpmStart): number {
  return start.printed().split('Stopped. Running sandboxes stay alive').length - 1;
}

it('the command that it installs and the three lines of the README run a command in a sandbox, without a login', async (test) => {
  const { expect } = test;
  const place = await newPlace(test);
  const start = await npmStart(place);
  const env = {
    ...process.env,
    HOME: binDir,
    MAYFLY_DATA_DIR: place.data.dataDir,
    MAYFLY_PORT: new URL(start.url).port,
  };
  const run = promisify(execFile);
  const timed = async (way: string, file: string, args: readonly string[]) => {
    const startedMs = performance.now();
    const printed = await run(file, args, { cwd: repositoryRoot, env, timeout: deadlineMs });
    const tookMs = Math.round(performance.now() - startedMs);
    console.log(`from the ready service to the first output with ${way}: ${tookMs} ms`);
    return printed;
  };
  const first = await timed('the command line', join(binDir, 'mayfly'), ['run', 'echo hi']);
  expect(first.stdout).toBe('hi\n');
  expect(first.stderr).toContain('Using the service on this host as admin@localhost');
  const second = await run(join(binDir, 'mayfly'), ['run', 'echo again'], { env, timeout: deadlineMs });
  expect(second).toEqual({ stdout: 'again\n', stderr: '' });
  const program = snippetsOf(readPage('README.md')).find(({ language }) => language === 'ts')?.content ?? '';
  expect(program.split('\n').filter(Boolean)).toHaveLength(3);
  const byProgram = await timed('the SDK', process.execPath, ['--input-type=module-typescript', '-e', program]);
  expect(byProgram.stdout).toMatch(/^hello from \w+\n/);
  start.npm.kill('SIGTERM');
  expect(await ended(place, start)).toBe(0);
});

it('SIGTERM to npm itself ends the service; its sandbox stays and the next npm start adopts it', async (test) => {
  const { expect } = test;
  const place = await newPlace(test);
  const { data } = place;
  const before = await hostState();
  const first = await npmStart(place);
  const { id } = await createSandbox(first);
  await output(first, id, 'echo kept > /workspace/file');
  // The kernel's out-of-memory killer prefers machines to the service, which is spared where it has the privilege to ask for that.
  const oomScoreOf = (pid: number) => readFileSync(`/proc/${pid}/oom_score_adj`, 'utf8').trim();
  const machines = await machinePids(data.dataDir);
  const own = oomScoreOf(process.pid);
  const scores = [first.supervisorPid, ...first.supervised, machines.get(id) ?? 0].map(oomScoreOf);
  expect(scores).toEqual(mayLowerOomScore() ? ['-999', '-999', '-900', '500'] : [own, own, own, '500']);

  // A second one is refused by the first supervisor's own lock, whatever its processes are doing, and disturbs nobody.
  const [hostPid = 0, servicePid = 0] = first.supervised;
  process.kill(hostPid, 'SIGKILL');
  const second = spawnNpm(place);
  await once(second.npm, 'exit', { signal: AbortSignal.timeout(deadlineMs) });
  expect(second.npm.exitCode).toBe(1);
  expect(second.printed()).toContain(
    `Another Mayfly service (process ${first.supervisorPid}) is using the data folder`,
  );
  expect(supervisedBy(first.supervisorPid)).toMatchObject({ host: expect.any(Number) as number, service: servicePid });
  expect(await output(first, id, 'cat /workspace/file')).toBe('kept');

  const { host = 0 } = supervisedBy(first.supervisorPid);
  first.npm.kill('SIGTERM');
  expect(await ended(place, { ...first, supervised: [host, servicePid] })).toBe(0);
  expect(timesStopped(first)).toBe(1);
  expect(await machineProcesses(data.dataDir)).toHaveLength(1);

  const next = await npmStart(place);
  expect(await output(next, id, 'cat /workspace/file')).toBe('kept');
  await deleteSandbox(next, id);
  next.npm.kill('SIGTERM');
  expect(await ended(place, next)).toBe(0);
  expect(await machineProcesses(data.dataDir)).toEqual([]);
  expect(await leftSince(before)).toEqual([]);
});

// They mostly wait for processes to start and to end, so they run together, each with the `expect` of its own test.
describe.concurrent('an orderly stop', () => {
  it('closing the terminal of npm start stops the service in an orderly way', async (test) => {
    const { expect } = test;
    const place = await newPlace(test);
    const start = await npmStart(place, true);
    const socket = join(place.data.dataDir, 'service', 'admin.sock');
    expect(existsSync(socket)).toBe(true);
    // The terminal is gone with the program that emulates it.
    start.npm.kill('SIGKILL');
    await ended(place, start);
    expect(existsSync(socket)).toBe(false);
  });

  describe('each process of npm start takes each signal, and the service stops once, in an orderly way', () => {
    it.for([
      ['npm', 'SIGINT', 0],
      // npm does not forward it and dies of it.
      ['npm', 'SIGHUP', 'SIGHUP'],
      ['bootstrap.mjs', 'SIGTERM', 0],
      ['bootstrap.mjs', 'SIGHUP', 0],
      ['the supervisor', 'SIGTERM', 0],
      ['every process at once, as by a terminal', 'SIGINT', 0],
    ] as const)('%s, %s', async ([target, signal, end], test) => {
      const { expect } = test;
      const place = await newPlace(test);
      const start = await npmStart(place);
      const pids = {
        npm: [start.npm.pid ?? 0],
        'bootstrap.mjs': [start.bootstrapPid],
        'the supervisor': [start.supervisorPid],
        'every process at once, as by a terminal': [start.npm.pid ?? 0, start.bootstrapPid, start.supervisorPid],
      }[target];
      for (const pid of pids) process.kill(pid, signal);
      expect(await ended(place, start)).toBe(end);
      expect(timesStopped(start)).toBe(1);
    });
  });
});
