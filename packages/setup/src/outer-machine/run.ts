import { statfs } from 'node:fs/promises';
import { availableParallelism, totalmem } from 'node:os';
import { join } from 'node:path';
import type { QemuEngine } from '@mayfly/server/machines';
import { runProgram } from '@mayfly/server/system';
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
import {
  findEmulationFailure,
  findFailedTest,
  judge,
  mayRepeat,
  type Observations,
  type OuterVerdict,
  type OutOfTime,
} from './verdict.ts';

/** What runs in an outer machine. */
export interface OuterCommand {
  /** A script of this checkout for Node.js, and its arguments. */
  readonly words: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** For all attempts together. */
  readonly limitMs: number;
  readonly outOfTime: OutOfTime;
}

/** The exit code when the emulation failed or was too slow, not a test: EX_TEMPFAIL of sysexits.h. */
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
  const size = outerSize(context.arch);
  if (size.reason !== undefined) announcer.line(`  ${size.reason}`);
  const { limitMs } = command;
  const endsAtMs = performance.now() + limitMs;
  for (let attempt = 1; ; attempt += 1) {
    const verdict = await withStagingFolder(context.cacheDir, run, (folder) =>
      runOnce({ binary, preloadPath, image, size, folder, parts, command, endsAtMs }),
    );
    if (verdict.kind === 'ended') return verdict.code;
    announcer.line(`${verdict.reason} This is not a test failure.`);
    const leftMs = Math.max(0, endsAtMs - performance.now());
    if (!mayRepeat({ attempt, leftMs, limitMs })) {
      announcer.line(`The suites are not run again: attempt ${attempt}, ${formatElapsed(leftMs)} left.`);
      return inconclusiveExitCode;
    }
    announcer.line('The suites are run once more.');
  }
}

interface OuterRun extends Pick<QemuEngine, 'binary' | 'preloadPath'> {
  readonly image: OuterImage;
  readonly size: OuterSize;
  /** Empty; for the disks and the log of this run. */
  readonly folder: string;
  readonly parts: PreparedParts;
  readonly command: OuterCommand;
  /** When the time of all attempts is over, by performance.now(). */
  readonly endsAtMs: number;
}

/** Runs the command in a new outer machine. */
async function runOnce(run: OuterRun): Promise<OuterVerdict> {
  const { binary, preloadPath, image, folder, parts, command } = run;
  const { cpus, memoryMib } = run.size;
  const { context } = parts;
  const { announcer } = context;
  const consolePath = join(folder, 'console.log');
  const plan = {
    arch: context.arch,
    cpus,
    memoryMib,
    kernelPath: image.kernelPath,
    rootPath: join(folder, 'root.qcow2'),
    runDiskPath: join(folder, 'run.raw'),
    consolePath,
    resultPath: join(folder, 'result'),
  };
  await runProgram('qemu-img', ['create', '-q', '-f', 'qcow2', '-F', 'raw', '-b', image.diskPath, plan.rootPath]);
  await announcer.step('disk with the checkout and the guest image', () =>
    writeRunDisk(plan.runDiskPath, join(folder, 'run'), runDiskContents(parts, command), context.signal),
  );
  const deadlineMs = Math.max(0, run.endsAtMs - performance.now());
  announcer.line(
    `▸ outer machine: ${cpus === 1 ? '1 CPU' : `${cpus} CPUs`}, ${memoryMib} MiB, at most ${formatElapsed(deadlineMs)}`,
  );
  using progress = relayLines(announcer);
  const machine = { binary, preloadPath, deadlineMs, signal: context.signal, onLine: progress.onLine };
  const result = await runOuterMachine(plan, machine);
  const verdict = judge(result, progress.seen(), command.outOfTime);
  if (result.kind !== 'exited') {
    if (verdict.kind === 'ended' && verdict.reason !== undefined) announcer.line(verdict.reason);
    announcer.line(`Last kernel messages of the outer machine:\n${await readConsoleTail(consolePath)}`);
  }
  return verdict;
}

const mib = 2 ** 20;

interface OuterSize {
  readonly cpus: number;
  readonly memoryMib: number;
  /** Why it has fewer CPUs than the host. */
  readonly reason?: string;
}

/** The suites need 4 GiB; more than 8 are of no use. */
function outerSize(arch: string): OuterSize {
  const memoryMib = Math.min(8192, Math.floor(totalmem() / mib / 2));
  if (memoryMib < 4096) {
    throw new SetupError('The outer machine needs 4 GiB of memory, half of what the host has. Use a larger machine.');
  }
  if (arch === 'x64') {
    return { cpus: 1, memoryMib, reason: 'One CPU: with several, the emulated x86_64 KVM resets guests as they boot.' };
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

function runDiskContents({ plan, context }: PreparedParts, { words, env }: OuterCommand) {
  const exports = Object.entries({ MAYFLY_CACHE_DIR: `${mountPoint}/cache`, ...env });
  const command = [
    'export PATH="$PWD/node_modules/.bin:$PATH"',
    ...exports.map(([name, value]) => `export ${name}=${quote(value)}`),
    `exec ${[`./node_modules/node-linux-${process.arch}/bin/node`, ...words].map(quote).join(' ')}\n`,
  ].join('\n');
  return { projectRoot, cacheDir: context.cacheDir, entries: builtEntries(plan), command };
}

/** The text as one word of a shell command. */
function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

function builtEntries({ kernel, agent, jail, net, ram, initramfs, disks }: BuildPlan): readonly CacheEntry[] {
  return [kernel, agent, jail, net, ram, initramfs, disks];
}

const silenceMs = 30_000;

interface Progress extends Disposable {
  readonly onLine: (line: string) => void;
  /** What the first lines of their kind said. */
  readonly seen: () => Observations;
}

/** Prints the lines of the outer machine with the time, and says so when there were none for a while. */
function relayLines(announcer: Announcer): Progress {
  const startedMs = performance.now();
  const print = (text: string) =>
    announcer.line(`${formatElapsed(performance.now() - startedMs).padStart(12)} │ ${text}`);
  const timer = setInterval(() => print('…'), silenceMs);
  let emulationFailure: string | undefined;
  let failedTest: string | undefined;
  return {
    onLine: (line) => {
      timer.refresh();
      emulationFailure ??= findEmulationFailure(line);
      failedTest ??= findFailedTest(line);
      print(line.trimEnd());
    },
    seen: () => ({ emulationFailure, failedTest }),
    [Symbol.dispose]: () => clearInterval(timer),
  };
}
