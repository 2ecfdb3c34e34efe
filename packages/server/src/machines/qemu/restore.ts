import { sizes } from '@mayfly/contract';
import { buildArgv } from './argv.ts';
import type { Ground } from './grounds.ts';
import type { Holdings } from './holdings.ts';
import type { QemuEngine } from './host/engine.ts';
import { readProcessIdentity } from './jail/process-identity.ts';
import { qemuBinds } from './jail/qemu-binds.ts';
import { type JailSpec, jailSpec } from './jail/spec.ts';
import { writeMachineRecord } from './machine-record.ts';
import { connectMonitor } from './monitor.ts';
import { type MachineProcess, StartedProcess } from './process.ts';
import type { QmpClient } from './qmp/client.ts';
import { loadDeviceState } from './qmp/migration.ts';
import type { StepRunner } from './steps.ts';
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

/** Where a restore's steps run, and what holds what they take. */
export interface RestoreTools {
  readonly engine: QemuEngine;
  readonly jailPath: string;
  readonly holdings: Holdings;
  readonly step: StepRunner;
}

/** Restores a template copy-on-write on prepared ground. The process is held from its start on, also when this fails. */
export const restoreTemplate = async (
  { engine, jailPath, holdings, step }: RestoreTools,
  template: Template,
  ground: Ground,
): Promise<RestoredProcess> => {
  const { id, size, lease, layout } = ground;
  const { logPath } = layout;
  const argv = [JSON.stringify(machineJail(engine, template, ground))];
  const process = await step('start process', async () => {
    const started = await StartedProcess.start({ program: jailPath, argv, env: {}, logPath });
    holdings.hold('end process', () => started.kill());
    return started;
  });
  const identity = readProcessIdentity(process.pid);
  const recorded = { id, size, lease, ...(identity ? { process: identity } : {}) };
  // Both are waited for, so that nothing is written any more when what is held is given back.
  const [connected, written] = await Promise.allSettled([
    step('connect monitor', async () => {
      const opened = await connectMonitor(process, layout.sockets.qmp, logPath);
      holdings.hold('close monitor', () => opened.close());
      return opened;
    }),
    step('record process', () => writeMachineRecord(layout.recordPath, recorded)),
  ]);
  if (connected.status === 'rejected') throw connected.reason;
  if (written.status === 'rejected') throw written.reason;
  const qmp = connected.value;
  await step('load state', () => loadDeviceState(qmp, template.statePath, loadDeadlineMs));
  await step('let run', () => qmp.execute('cont'));
  return { process, qmp };
};
