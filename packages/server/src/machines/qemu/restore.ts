import { constants, copyFile, mkdir, rm } from 'node:fs/promises';
import { sizes } from '@mayfly/contract';
import { buildArgv } from './argv.ts';
import type { QemuEngine } from './host/engine.ts';
import { type MachineLayout, machineLayout } from './layout.ts';
import { connectMonitor } from './monitor.ts';
import { QemuProcess } from './process.ts';
import type { QmpClient } from './qmp/client.ts';
import { loadDeviceState } from './qmp/migration.ts';
import type { Template } from './template/manifest.ts';

/** A QEMU process with a template's state loaded and its virtual CPUs running. */
export interface RestoredProcess {
  readonly process: QemuProcess;
  readonly qmp: QmpClient;
  readonly layout: MachineLayout;
}

/** How long the device state may take to load, in milliseconds. */
const loadDeadlineMs = 30_000;

/** Restores a template copy-on-write into a folder that must not exist yet. When it fails, folder and process are gone. */
export const restoreTemplate = async (
  engine: QemuEngine,
  template: Template,
  name: string,
  folder: string,
  signal?: AbortSignal,
): Promise<RestoredProcess> => {
  const layout = machineLayout(folder);
  signal?.throwIfAborted();
  await mkdir(folder, { mode: 0o700 });
  let process: QemuProcess | undefined;
  try {
    await copyFile(template.emptyLayerPath, layout.diskPath, constants.COPYFILE_FICLONE);
    const argv = buildArgv({
      engine,
      name,
      resources: sizes[template.manifest.size],
      ramPath: template.ramPath,
      disk: [
        { format: 'raw', path: template.manifest.basePath },
        { format: 'qcow2', path: template.diskPath },
        { format: 'qcow2', path: layout.diskPath },
      ],
      sockets: layout.sockets,
      start: { kind: 'restore' },
    });
    signal?.throwIfAborted();
    process = await QemuProcess.start(engine, argv, layout.logPath);
    const qmp = await connectMonitor(process, layout.sockets.qmp, layout.logPath);
    await loadDeviceState(qmp, template.statePath, loadDeadlineMs);
    signal?.throwIfAborted();
    await qmp.execute('cont');
    return { process, qmp, layout };
  } catch (error) {
    await process?.kill();
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
};
