import { chmod, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type SizeName, sizes } from '@mayfly/contract';
import type { AgentChannel } from '../../../core/ports/machine-driver.ts';
import { openAgentChannel } from '../agent-channel.ts';
import { buildArgv } from '../argv.ts';
import { createEmptyLayer } from '../disk.ts';
import type { QemuEngine } from '../host/engine.ts';
import { machineLayout } from '../layout.ts';
import { connectMonitor } from '../monitor.ts';
import { readLogTail, StartedProcess } from '../process.ts';
import { saveDeviceState } from '../qmp/migration.ts';
import { manifestName, type TemplateManifest, templateFiles } from './manifest.ts';

/** Speaks to the agent of a machine that is booting: waits for it, runs what copies should find warm, and closes the channel. */
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
}

/** Where the programs of a host are. */
const searchPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** How long QEMU may take to write the device state, in milliseconds. */
const saveDeadlineMs = 60_000;

/** Boots a machine once and saves it, stopped and idle, in an empty folder. The folder is whole only when this returns; flushing it to disk is the caller's. */
export const buildTemplate = async (
  recipe: TemplateRecipe,
  folder: string,
  signal?: AbortSignal,
): Promise<TemplateManifest> => {
  const files = templateFiles(folder);
  const layout = machineLayout(folder);
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
  // QEMU makes the tap itself, in a network namespace that goes with it: copies must find the same kind of network.
  const process = await StartedProcess.start({
    program: 'unshare',
    argv: ['--net', '--', binary, ...argv],
    env: { PATH: searchPath, ...(preloadPath ? { LD_PRELOAD: preloadPath } : {}) },
    logPath: layout.logPath,
  });
  const abort = () => void process.kill();
  signal?.addEventListener('abort', abort);
  try {
    const qmp = await connectMonitor(process, layout.sockets.qmp, layout.logPath);
    const { bootMs, uptimeMs } = await recipe
      .warmUp((signal) => openAgentChannel(layout.sockets, signal))
      .catch(async (cause: unknown) => {
        const said = await readLogTail(layout.consolePath);
        throw new Error(`the template machine did not come up. Its console: ${said || '(empty)'}`, { cause });
      });
    await qmp.execute('stop');
    await saveDeviceState(qmp, files.statePath, saveDeadlineMs);
    await qmp.execute('quit').catch(() => {});
    await process.untilEnded();
    // Machines read them under user ids of their own, through a jail that shows nothing else.
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
  } finally {
    signal?.removeEventListener('abort', abort);
    await process.kill();
  }
};
