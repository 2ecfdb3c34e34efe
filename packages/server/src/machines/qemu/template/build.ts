import { chmod, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type SizeName, sizes } from '@mayfly/contract';
import { machineDeadlines } from '../../../core/ports/machine-deadlines.ts';
import type { AgentChannel } from '../../../core/ports/machine-driver.ts';
import { runProgram } from '../../../system/run-program.ts';
import { connectBoth } from '../../../system/unix-sockets.ts';
import { buildArgv } from '../argv.ts';
import type { QemuEngine } from '../engine.ts';
import { type MachineLayout, machineLayout } from '../machine-folder.ts';
import { readLogTail, StartedProcess } from '../machine-process.ts';
import { saveDeviceState } from '../qmp/migration.ts';
import { connectMonitor } from '../qmp/qmp-client.ts';
import { BootStalled, retryStalledBoot, watchForStall } from './boot-watch.ts';
import { manifestName, type TemplateManifest, templateFiles } from './template.ts';

/**
 * Warms up a booting machine through its agent: waits for the agent, runs what copies should have in their page cache, and closes the
 * channel. Throws BootStalled when the agent does not answer in time.
 */
export type WarmUp = (openChannel: (signal: AbortSignal) => Promise<AgentChannel>) => Promise<{
  readonly bootMs: number;
  readonly uptimeMs: number;
}>;

export interface TemplateRecipe {
  readonly engine: QemuEngine;
  readonly size: SizeName;
  readonly kernelPath: string;
  readonly kernelVersion: string;
  readonly initrdPath: string;
  readonly basePath: string;
  readonly warmUp: WarmUp;
  /** Called before a boot that stalled is tried again, with the number of the attempt that failed. */
  readonly onRetry?: (error: BootStalled, attempt: number) => void;
}

/** The PATH by which `unshare` is found. */
const searchPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/**
 * Boots a machine and saves it, stopped and idle, in an empty folder. The template is complete only when this returns; the caller flushes it
 * to disk. No process is left running, whatever happens.
 */
export async function buildTemplate(
  recipe: TemplateRecipe,
  folder: string,
  signal?: AbortSignal,
): Promise<TemplateManifest> {
  const boot = async () => {
    signal?.throwIfAborted();
    // RAM and disk must be empty when a boot starts again.
    for (const name of await readdir(folder)) await rm(join(folder, name), { recursive: true });
    return await bootAndSave(recipe, folder, signal);
  };
  const { bootMs, uptimeMs } = await retryStalledBoot(boot, recipe.onRetry ?? (() => {})).catch((error: unknown) =>
    error instanceof BootStalled ? explainFailure(error, machineLayout(folder)) : Promise.reject(error),
  );
  const files = templateFiles(folder);
  // Machines read them under their own user ids. Their jails show nothing else of the folder.
  for (const path of [files.ramPath, files.statePath, files.diskPath]) await chmod(path, 0o444);
  const manifest: TemplateManifest = {
    size: recipe.size,
    arch: recipe.engine.arch,
    acceleration: recipe.engine.acceleration,
    machineType: recipe.engine.machineType,
    qemuVersion: recipe.engine.versionText,
    kernelVersion: recipe.kernelVersion,
    basePath: recipe.basePath,
    createdAtMs: Date.now(),
    bootMs,
    savedAtUptimeMs: uptimeMs,
  };
  await writeFile(join(folder, manifestName), `${JSON.stringify(manifest, null, 2)}\n`);
  return manifest;
}

/** One attempt: boots the machine, warms it up and saves its state. */
async function bootAndSave(
  recipe: TemplateRecipe,
  folder: string,
  signal: AbortSignal | undefined,
): Promise<Awaited<ReturnType<WarmUp>>> {
  const files = templateFiles(folder);
  const layout = machineLayout(folder);
  const process = await startBoot(recipe, layout);
  const abort = () => void process.kill();
  signal?.addEventListener('abort', abort);
  const over = new AbortController();
  try {
    const qmp = await connectMonitor(process, layout.sockets.qmp, layout.logPath);
    const warmedUp = recipe.warmUp((openSignal) =>
      connectBoth(layout.sockets, AbortSignal.any([openSignal, over.signal])),
    );
    const warmUp = await Promise.race([warmedUp, failureOf(process, layout, over.signal)]).catch((error: unknown) => {
      signal?.throwIfAborted();
      if (error instanceof BootStalled) throw error;
      return explainFailure(error, layout);
    });
    over.abort();
    await qmp.execute('stop');
    await saveDeviceState(qmp, files.statePath, machineDeadlines.template.saveStateMs);
    await qmp.execute('quit').catch(() => {});
    await process.untilEnded();
    return warmUp;
  } finally {
    over.abort();
    signal?.removeEventListener('abort', abort);
    await process.kill();
  }
}

async function startBoot(recipe: TemplateRecipe, layout: MachineLayout): Promise<StartedProcess> {
  const files = templateFiles(layout.folder);
  const { size: diskBytes } = await stat(recipe.basePath);
  await createEmptyLayer(files.diskPath, diskBytes);
  await createEmptyLayer(files.emptyLayerPath, diskBytes);
  const argv = buildArgv({
    engine: recipe.engine,
    name: `mayfly-template-${recipe.size}`,
    resources: sizes[recipe.size],
    ramPath: files.ramPath,
    disk: [
      { format: 'raw', path: recipe.basePath },
      { format: 'qcow2', path: files.diskPath },
    ],
    sockets: {
      qmp: { path: layout.sockets.qmp },
      control: { path: layout.sockets.control },
      data: { path: layout.sockets.data },
    },
    tapName: 'tap0',
    start: {
      kind: 'boot',
      kernelPath: recipe.kernelPath,
      initrdPath: recipe.initrdPath,
      consolePath: layout.consolePath,
    },
  });
  const { binary, preloadPath } = recipe.engine;
  // QEMU creates the tap itself, in a network namespace that vanishes with it, because copies must have the same kind of network device.
  return await StartedProcess.start({
    program: 'unshare',
    argv: ['--net', '--', binary, ...argv],
    env: { PATH: searchPath, ...(preloadPath ? { LD_PRELOAD: preloadPath } : {}) },
    logPath: layout.logPath,
  });
}

/** Creates an empty qcow2 layer of the size of the layer below. The layer below is given on QEMU's command line, not in the file. */
async function createEmptyLayer(path: string, sizeBytes: number): Promise<void> {
  const options = ['-q', '-f', 'qcow2', '-o', 'lazy_refcounts=on'];
  await runProgram('qemu-img', ['create', ...options, path, String(sizeBytes)], {
    deadlineMs: machineDeadlines.template.createLayerMs,
  });
}

/** Rejects when the machine stalls or QEMU exits before the boot is over. Never resolves. */
async function failureOf(
  process: StartedProcess,
  { consolePath, logPath }: MachineLayout,
  over: AbortSignal,
): Promise<never> {
  await Promise.race([process.ended, watchForStall(process.pid, consolePath, over)]);
  if (over.aborted) return await new Promise<never>(() => {});
  throw new Error(`QEMU exited during the boot: ${(await readLogTail(logPath)) || 'its log is empty'}`);
}

async function explainFailure(cause: unknown, { consolePath, logPath }: MachineLayout): Promise<never> {
  const [console, log] = await Promise.all([readLogTail(consolePath), readLogTail(logPath)]);
  const texts = [`Its console: ${console || '(empty)'}`, `QEMU's log: ${log || '(empty)'}`];
  throw new Error(`The template machine did not boot. ${texts.join('. ')}`, { cause });
}
