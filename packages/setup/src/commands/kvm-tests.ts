import { statfs } from 'node:fs/promises';
import { availableParallelism, totalmem } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { detectEngine, type QemuEngine, runProgram } from '@mayfly/server/machines';
import { type Announcer, createAnnouncer, formatElapsed, SetupError } from '../announce.ts';
import { type BuildPlan, planBuild } from '../artifacts.ts';
import { type CacheEntry, entryLockPath, withStagingFolder } from '../cache/entry.ts';
import { hashValues } from '../cache/keys.ts';
import { tryLock } from '../cache/lock.ts';
import { projectRoot, readEnvironment } from '../environment.ts';
import { refuseUnfitHost } from '../host/problems.ts';
import { ensureOuterImage } from '../outer-machine/image.ts';
import { type OuterResult, readConsoleTail, runOuterMachine } from '../outer-machine/machine.ts';
import { mountPoint, writeRunDisk } from '../outer-machine/run-disk.ts';
import { describeAcceleration, type PreparedParts, type PrepareOptions, prepareParts } from '../prepare.ts';
import { debianGoChoice } from '../steps/go.ts';
import { localProgram, runInherited } from './checks.ts';

const usage = `Usage: npm run test:kvm -- [options] [files]
Tests Mayfly on KVM: directly on a host that has it, else in an emulated outer machine with virtualization extensions.
  --short         only a selection of the suites
  --minutes N     time limit of the outer machine (default 90)
  --here          fail on a host without KVM instead of starting an outer machine
`;

/** Runs the KVM suites and returns their exit code. */
export async function testOnKvm(args: readonly string[], signal: AbortSignal): Promise<number> {
  const options = parse(args);
  if (options === undefined) return 2;
  const announcer = createAnnouncer(process.stderr);
  const setup = { environment: readEnvironment(process.env), purpose: 'service', announcer, signal } as const;
  await refuseUnfitHost();
  const startedMs = performance.now();
  const code = options.here || (await hasKvm()) ? await testHere(options) : await testWithoutKvm(setup, options);
  const elapsed = formatElapsed(performance.now() - startedMs);
  announcer.line(code === 0 ? `✓ KVM tests passed … ${elapsed}` : `✗ KVM tests FAILED … ${elapsed}, exit code ${code}`);
  return code;
}

interface KvmTestOptions {
  readonly short: boolean;
  readonly here: boolean;
  readonly limitMs: number;
  readonly files: readonly string[];
}

/** The parsed arguments; undefined, with an explanation on standard error, if they are wrong. */
function parse(args: readonly string[]): KvmTestOptions | undefined {
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      options: {
        short: { type: 'boolean', default: false },
        here: { type: 'boolean', default: false },
        minutes: { type: 'string', default: '90' },
      },
      allowPositionals: true,
    });
    if (!/^[1-9]\d{0,3}$/.test(values.minutes))
      throw new Error(`--minutes must be a number of minutes, not "${values.minutes}".`);
    return { short: values.short, here: values.here, limitMs: Number(values.minutes) * 60_000, files: positionals };
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n${usage}`);
    return undefined;
  }
}

/** Whether machines on this host would use KVM; false when QEMU is not installed yet. */
async function hasKvm(): Promise<boolean> {
  const engine = await detectEngine().catch(() => undefined);
  return engine?.acceleration === 'kvm';
}

/** Runs the suites on this host, which must have KVM. They do their own set-up. */
async function testHere({ short, files }: KvmTestOptions): Promise<number> {
  return await runInherited(localProgram('vitest'), ['run', '--config', 'vitest.kvm.config.ts', ...files], {
    env: { ...process.env, MAYFLY_KVM_SHORT: short ? '1' : '' },
  });
}

/** Sets up what an outer machine needs and runs the suites in one, unless KVM only lacked a QEMU. */
async function testWithoutKvm(setup: PrepareOptions, options: KvmTestOptions): Promise<number> {
  // The outer machine has no Go compiler, so what it needs must be compiled by the one that it would choose.
  const parts = await prepareParts(setup, await planBuild(process.arch, { go: debianGoChoice(process.arch) }));
  const engine = await detectEngine(parts.artifacts.qemuPreloadPath);
  if (engine.acceleration === 'kvm') return await testHere(options);
  setup.announcer.line(`${describeAcceleration(engine)}\n  The suites run in an emulated machine that has KVM.`);
  return await testInOuterMachine(engine, parts, options);
}

/** Runs this command again in an outer machine. */
async function testInOuterMachine(
  { binary, preloadPath }: QemuEngine,
  parts: PreparedParts,
  options: KvmTestOptions,
): Promise<number> {
  const { context } = parts;
  const { announcer } = context;
  await refuseSmallDisk(context.cacheDir);
  const image = await ensureOuterImage(context);
  const run: CacheEntry = { kind: 'outer-run', key: hashValues({ projectRoot }) };
  using lock = await tryLock(entryLockPath(context.cacheDir, run));
  if (!lock) throw new SetupError('Another npm run test:kvm of this checkout is running. Wait until it has ended.');
  return await withStagingFolder(context.cacheDir, run, async (folder) => {
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
      writeRunDisk(plan.runDiskPath, join(folder, 'run'), runDiskContents(parts, options), context.signal),
    );
    announcer.line(
      `▸ outer machine: ${plan.cpus} CPUs, ${plan.memoryMib} MiB, at most ${options.limitMs / 60_000} minutes`,
    );
    using progress = relayLines(announcer);
    const { limitMs: deadlineMs } = options;
    const machine = { binary, preloadPath, deadlineMs, signal: context.signal, onLine: progress.onLine };
    return await explainResult(await runOuterMachine(plan, machine), consolePath, announcer);
  });
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

function runDiskContents({ plan, context }: PreparedParts, { short, files }: KvmTestOptions) {
  const node = `node_modules/node-linux-${process.arch}/bin/node`;
  const args = ['test:kvm', '--here', ...(short ? ['--short'] : []), ...files];
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
