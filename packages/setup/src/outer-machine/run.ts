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
import { type OuterResult, readConsoleTail, runOuterMachine } from './machine.ts';
import { mountPoint, writeRunDisk } from './run-disk.ts';

/** What runs in an outer machine. */
export interface OuterCommand {
  /** Arguments of bootstrap.mjs. */
  readonly args: readonly string[];
  readonly limitMs: number;
}

/** Runs a command of this checkout in an outer machine and returns its exit code. */
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
    const code = await withStagingFolder(context.cacheDir, run, (folder) =>
      runOnce({ binary, preloadPath, image, folder, parts, command }),
    );
    if (code <= 128 || attempt === maxAttempts) return code;
    announcer.line(`The command in the outer machine was killed by signal ${code - 128}. It is run once more.`);
  }
}

/** A test that fails makes the command exit with a small code. Under emulation, Node.js itself was once killed by SIGSEGV before it printed a line. */
const maxAttempts = 2;

interface OuterRun extends Pick<QemuEngine, 'binary' | 'preloadPath'> {
  readonly image: OuterImage;
  /** Empty; for the disks and the log of this run. */
  readonly folder: string;
  readonly parts: PreparedParts;
  readonly command: OuterCommand;
}

/** Runs the command in a new outer machine and returns its exit code. */
async function runOnce({ binary, preloadPath, image, folder, parts, command }: OuterRun): Promise<number> {
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
  return await explainResult(await runOuterMachine(plan, machine), consolePath, announcer);
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

function builtEntries({ kernel, agent, jail, net, initramfs, disks }: BuildPlan): readonly CacheEntry[] {
  return [kernel, agent, jail, net, initramfs, disks];
}

const silenceMs = 30_000;

/** Prints the lines of the outer machine with the time, and says so when there were none for a while. */
function relayLines(announcer: Announcer): Disposable & { readonly onLine: (line: string) => void } {
  const startedMs = performance.now();
  const print = (text: string) =>
    announcer.line(`${formatElapsed(performance.now() - startedMs).padStart(12)} │ ${text}`);
  const timer = setInterval(() => print('…'), silenceMs);
  return {
    onLine: (line) => {
      timer.refresh();
      print(line.trimEnd());
    },
    [Symbol.dispose]: () => clearInterval(timer),
  };
}

async function explainResult(result: OuterResult, consolePath: string, announcer: Announcer): Promise<number> {
  if (result.kind === 'exited') return result.code;
  const reason =
    result.kind === 'out of time'
      ? 'The outer machine did not finish in time. Allow more with --minutes.'
      : `The outer machine ended without a result. ${result.reason}`;
  announcer.line(`${reason}\nIts last kernel messages:\n${await readConsoleTail(consolePath)}`);
  return 1;
}
