import { sizes } from '@mayfly/contract';
import { buildArgv } from './argv.ts';
import type { Ground } from './grounds.ts';
import type { QemuEngine } from './host/engine.ts';
import { readProcessIdentity } from './jail/process-identity.ts';
import { qemuBinds } from './jail/qemu-binds.ts';
import { type JailSpec, jailSpec } from './jail/spec.ts';
import { writeMachineRecord } from './machine-record.ts';
import { connectMonitor } from './monitor.ts';
import { type MachineProcess, StartedProcess } from './process.ts';
import type { QmpClient } from './qmp/client.ts';
import { loadDeviceState } from './qmp/migration.ts';
import type { Template } from './template/manifest.ts';

/** A QEMU process with a template's state loaded and its virtual CPUs running. */
export interface RestoredProcess {
  readonly process: MachineProcess;
  readonly qmp: QmpClient;
}

/** How long the device state may take to load, in milliseconds. */
const loadDeadlineMs = 30_000;

/** The descriptors of the sockets that the jail makes for QEMU. */
const sockets = { qmp: { fd: 3 }, control: { fd: 4 }, data: { fd: 5 } } as const;

/** The jail of a machine that is restored from a template: it sees its own folder, and of the template only single files. */
export const machineJail = (engine: QemuEngine, template: Template, ground: Ground): JailSpec => {
  const { layout, lease, network, cgroupProcs } = ground;
  const { basePath, size } = template.manifest;
  return jailSpec({
    uid: lease.uid,
    gid: lease.gid,
    cgroupProcs,
    networkNamespace: network.netnsPath,
    listen: [
      { path: layout.sockets.qmp, fd: sockets.qmp.fd },
      { path: layout.sockets.control, fd: sockets.control.fd },
      { path: layout.sockets.data, fd: sockets.data.fd },
    ],
    binds: qemuBinds({
      arch: engine.arch,
      program: engine.binary,
      preloadPath: engine.preloadPath,
      readOnly: [basePath, template.diskPath, template.ramPath, template.statePath],
      writable: [layout.folder],
    }),
    devices: { kvm: engine.acceleration === 'kvm', tun: true },
    program: engine.binary,
    preloadPath: engine.preloadPath,
    argv: buildArgv({
      engine,
      name: `mayfly-${ground.id}`,
      resources: sizes[size],
      ramPath: template.ramPath,
      disk: [
        { format: 'raw', path: basePath },
        { format: 'qcow2', path: template.diskPath },
        { format: 'qcow2', path: layout.diskPath },
      ],
      sockets,
      tapName: network.tapName,
      start: { kind: 'restore' },
    }),
  });
};

/** Restores a template copy-on-write on prepared ground. When it fails, the process is gone. */
export const restoreTemplate = async (
  engine: QemuEngine,
  jailPath: string,
  template: Template,
  ground: Ground,
  signal?: AbortSignal,
): Promise<RestoredProcess> => {
  const { layout } = ground;
  const spec = machineJail(engine, template, ground);
  signal?.throwIfAborted();
  const process = await StartedProcess.start({
    program: jailPath,
    argv: [JSON.stringify(spec)],
    env: {},
    logPath: layout.logPath,
  });
  try {
    const identity = readProcessIdentity(process.pid);
    const recorded = {
      id: ground.id,
      size: ground.size,
      lease: ground.lease,
      ...(identity ? { process: identity } : {}),
    };
    const [qmp] = await Promise.all([
      connectMonitor(process, layout.sockets.qmp, layout.logPath),
      writeMachineRecord(layout.recordPath, recorded),
    ]);
    await loadDeviceState(qmp, template.statePath, loadDeadlineMs);
    signal?.throwIfAborted();
    await qmp.execute('cont');
    return { process, qmp };
  } catch (error) {
    await process.kill();
    throw error;
  }
};
