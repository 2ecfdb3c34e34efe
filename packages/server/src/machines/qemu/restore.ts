import { sizes } from '@mayfly/contract';
import { buildArgv, type DiskRates } from './argv.ts';
import { overcommitPath, type QemuEngine } from './engine.ts';
import type { HostResources, MachineResources } from './host-resources.ts';
import { readProcessIdentity } from './jail/proc.ts';
import { type JailSpec, jailSpec, qemuBinds } from './jail/spec.ts';
import { writeMachineRecord } from './machine-folder.ts';
import { type MachineProcess, StartedProcess } from './machine-process.ts';
import { loadDeviceState } from './qmp/migration.ts';
import { connectMonitor, type QmpClient } from './qmp/qmp-client.ts';
import type { ReleaseStack } from './release-stack.ts';
import type { StepRunner } from './steps.ts';
import type { Template } from './template/template.ts';

/** A QEMU process with the state of a template and running virtual CPUs. */
export interface RestoredProcess {
  readonly process: MachineProcess;
  readonly qmp: QmpClient;
}

export interface RestoreTools {
  readonly engine: QemuEngine;
  readonly jailPath: string;
  readonly diskRates: DiskRates;
  readonly host: Pick<HostResources, 'shareAgentSockets'>;
  /** Receives the releases of what the restore acquires. */
  readonly releases: ReleaseStack;
  readonly step: StepRunner;
}

const loadDeadlineMs = 30_000;

/** The descriptors of the sockets that the jail opens for QEMU. */
const sockets = { qmp: { fd: 3 }, control: { fd: 4 }, data: { fd: 5 } } as const;

/** Restores a template copy-on-write, using allocated resources. The process is on the stack from its start, also when this fails. */
export async function restoreTemplate(
  { engine, jailPath, diskRates, host, releases, step }: RestoreTools,
  template: Template,
  resources: MachineResources,
): Promise<RestoredProcess> {
  const { id, size, lease, layout } = resources;
  const { logPath } = layout;
  const argv = [JSON.stringify(machineJail({ engine, diskRates }, template, resources))];
  const process = await step('start process', async () => {
    const started = await StartedProcess.start({ program: jailPath, argv, env: {}, logPath });
    releases.push('end process', () => started.kill());
    return started;
  });
  const identity = readProcessIdentity(process.pid);
  const record = { id, size, lease, ...(identity ? { process: identity } : {}) };
  // Waits for both, so that the record is not being written any more when a failure releases the folder.
  const [connected, recorded] = await Promise.allSettled([
    step('connect monitor', async () => {
      const opened = await connectMonitor(process, layout.sockets.qmp, logPath);
      releases.push('close monitor', () => opened.close());
      return opened;
    }),
    step('record process', () => writeMachineRecord(layout.recordPath, record)),
  ]);
  if (connected.status === 'rejected') throw connected.reason;
  if (recorded.status === 'rejected') throw recorded.reason;
  const qmp = connected.value;
  // QEMU answers, so the jail has opened all sockets. Sharing them takes no time while QEMU loads the state.
  const [shared, loaded] = await Promise.allSettled([
    host.shareAgentSockets(resources, step),
    step('load state', () => loadDeviceState(qmp, template.statePath, loadDeadlineMs)),
  ]);
  if (shared.status === 'rejected') throw shared.reason;
  if (loaded.status === 'rejected') throw loaded.reason;
  await step('start vcpus', () => qmp.execute('cont'));
  return { process, qmp };
}

/** The jail of a restored machine. It contains the machine's own folder and single files of the template. */
function machineJail(
  { engine, diskRates }: Pick<RestoreTools, 'engine' | 'diskRates'>,
  template: Template,
  resources: MachineResources,
): JailSpec {
  const { layout, lease, network, cgroupProcs } = resources;
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
      readOnly: [basePath, template.diskPath, template.ramPath, template.statePath, overcommitPath],
      writable: [layout.folder],
    }),
    devices: { kvm: engine.acceleration === 'kvm', tun: true },
    maxFileBytes: maxLayerBytes(sizes[size].diskGb),
    program: engine.binary,
    preloadPath: engine.preloadPath,
    ramPath: template.ramPath,
    argv: buildArgv({
      engine,
      name: `mayfly-${resources.id}`,
      resources: sizes[size],
      ramPath: template.ramPath,
      disk: [
        { format: 'raw', path: basePath },
        { format: 'qcow2', path: template.diskPath },
        { format: 'qcow2', path: layout.diskPath },
      ],
      diskRates,
      sockets,
      tapName: network.tapName,
      start: { kind: 'restore' },
    }),
  });
}

/** The part of a full disk layer that its own tables take: a cluster of 64 KiB needs 8 bytes of mapping and 2 of reference count. */
const layerTablesShare = 1 / 1024;

/** Room in a layer for the ext4 file system's own tables, which the visible size does not include, and for clusters in flight. */
const layerMarginShare = 1 / 16;

/** The largest file that a machine's disk layer can become: a guest that fills its disk stays below, a compromised QEMU cannot get beyond. */
export function maxLayerBytes(diskGb: number): number {
  return Math.ceil(diskGb * 1024 ** 3 * (1 + layerTablesShare + layerMarginShare));
}
