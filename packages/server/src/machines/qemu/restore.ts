import { type SizeName, sizes } from '@mayfly/contract';
import { machineDeadlines } from '../../core/ports/machine-deadlines.ts';
import { buildArgv, type DiskRates } from './argv.ts';
import { overcommitPath, type QemuEngine } from './engine.ts';
import type { HostResources, LaunchResources } from './host-resources.ts';
import { readProcessIdentity } from './jail/proc.ts';
import { type JailSpec, jailSpec, qemuBinds } from './jail/spec.ts';
import { writeMachineRecord } from './machine-folder.ts';
import { type MachineProcess, StartedProcess } from './machine-process.ts';
import { loadDeviceState } from './qmp/migration.ts';
import { connectMonitor, type QmpClient } from './qmp/qmp-client.ts';
import type { ReleaseStack } from './release-stack.ts';
import type { StepRunner } from './steps.ts';

/** A QEMU process with a restored state and running virtual CPUs. */
export interface RestoredProcess {
  readonly process: MachineProcess;
  readonly qmp: QmpClient;
}

export interface RestoreTools {
  readonly engine: QemuEngine;
  /** The size whose virtual hardware was saved. */
  readonly hardware: SizeName;
  readonly jailPath: string;
  readonly diskRates: DiskRates;
  readonly host: Pick<HostResources, 'shareAgentSockets'>;
  /** Receives the releases of what the restore acquires. */
  readonly releases: ReleaseStack;
  /** Why QEMU did not load the state, for the caller who asked for the machine. */
  readonly explainLoad: (error: unknown) => unknown;
  readonly step: StepRunner;
}

/** The descriptors of the sockets that the jail opens for QEMU. */
const sockets = { qmp: { fd: 3 }, control: { fd: 4 }, data: { fd: 5 } } as const;

/** Restores a template or snapshot copy-on-write, using allocated resources. The process is on the stack from its start, also when this fails. */
export async function restoreMachine(
  { engine, hardware, jailPath, diskRates, host, releases, explainLoad, step }: RestoreTools,
  resources: LaunchResources,
): Promise<RestoredProcess> {
  const { id, size, lease, layout, files, base, requirements } = resources;
  const { logPath } = layout;
  const argv = [JSON.stringify(machineJail({ engine, hardware, diskRates }, resources))];
  const process = await step('start process', async () => {
    const started = await StartedProcess.start({ program: jailPath, argv, env: {}, logPath });
    releases.push('end process', () => started.kill());
    return started;
  });
  const identity = readProcessIdentity(process.pid);
  const record = { id, size, lease, base, requirements, ...(identity ? { process: identity } : {}) };
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
    step('load state', () => loadDeviceState(qmp, files.statePath, machineDeadlines.launch.loadStateMs)),
  ]);
  if (shared.status === 'rejected') throw shared.reason;
  if (loaded.status === 'rejected') throw explainLoad(loaded.reason);
  await step('start vcpus', () => qmp.execute('cont'));
  return { process, qmp };
}

/** The jail of a restored machine. It contains the machine's own folder and the files that it is restored from. */
function machineJail(
  { engine, hardware, diskRates }: Pick<RestoreTools, 'engine' | 'hardware' | 'diskRates'>,
  resources: LaunchResources,
): JailSpec {
  const { layout, lease, network, cgroupProcs, files } = resources;
  const [ramPath = '', ...ramLayerPaths] = files.ramPaths;
  const [rawPath = '', ...layerPaths] = files.diskPaths;
  // Without the preloaded library nothing understands the plan, and the RAM file of a template has all of its RAM.
  const planPath = engine.preloadPath === undefined ? undefined : files.planPath;
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
      readOnly: [
        ...files.diskPaths,
        ...files.ramPaths,
        ...(planPath === undefined ? [] : [planPath]),
        files.statePath,
        overcommitPath,
      ],
      writable: [layout.folder],
    }),
    devices: { kvm: engine.acceleration === 'kvm', tun: true },
    maxFileBytes: maxLayerBytes(sizes[hardware].diskGb),
    program: engine.binary,
    preloadPath: engine.preloadPath,
    ramPath,
    ...(planPath !== undefined && { ramPlanPath: planPath, ramLayerPaths }),
    argv: buildArgv({
      engine,
      name: `mayfly-${resources.id}`,
      resources: sizes[hardware],
      ramPath,
      disk: [
        { format: 'raw', path: rawPath },
        ...[...layerPaths, layout.diskPath].map((path) => ({ format: 'qcow2', path }) as const),
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
