import { access, readdir } from 'node:fs/promises';
import PQueue from 'p-queue';
import type { Log } from '../../core/ports/runtime.ts';
import type { AgentSockets } from './agent-sockets.ts';
import type { HostResources } from './host-resources.ts';
import type { Cgroups } from './jail/cgroups.ts';
import { isSameProcess, type ProcessIdentity } from './jail/proc.ts';
import type { ProcessKiller } from './jail/process-killer.ts';
import type { UidLease, UidLeases } from './jail/uid-leases.ts';
import { QemuMachine } from './machine.ts';
import { type MachineRecord, machineLayout, readMachineRecord, updateMachineRecord } from './machine-folder.ts';
import { AdoptedProcess } from './machine-process.ts';
import type { MachineNetworks, OrphanLeases } from './network/machine-networks.ts';
import { connectMonitor } from './qmp/qmp-client.ts';
import { finishMigration } from './qmp/save-memory.ts';
import { type CleanupRetrier, ReleaseStack } from './release-stack.ts';
import type { MachineSaver } from './snapshots/save.ts';
import type { StepRunner } from './steps.ts';

export interface AdoptionParts {
  /** The data folder of this host process. */
  readonly dataDir: string;
  readonly machinesDir: string;
  readonly resources: Pick<HostResources, 'folderOf' | 'adopt' | 'pushOrphan' | 'shareAgentSockets'>;
  readonly cgroups: Pick<Cgroups, 'list' | 'memoryBytesOf'>;
  readonly leases: Pick<UidLeases, 'takeOver' | 'release' | 'reclaim'>;
  readonly networks: Pick<MachineNetworks, 'sweep'>;
  readonly agentSockets: Pick<AgentSockets, 'list'>;
  readonly killer: Pick<ProcessKiller, 'killProcess'>;
  readonly cleanup: CleanupRetrier;
  readonly saver: Pick<MachineSaver, 'save' | 'cleanUpAfter'>;
  readonly log: Log;
  readonly step: StepRunner;
}

type RunningRecord = MachineRecord & { readonly process: ProcessIdentity };

/** How many orphans are removed at once. */
const cleanupConcurrency = 8;

/**
 * Adopts every machine that an earlier host process of the same data folder left running, and meanwhile removes what the others left: folders,
 * cgroups with the processes in them, networks and uid leases. Never touches resources of another data folder, and touches nothing at all
 * when a newer Mayfly left a machine whose record this one cannot read.
 */
export async function adoptMachines(parts: AdoptionParts): Promise<QemuMachine[]> {
  const ids = await readdir(parts.machinesDir).catch(() => []);
  const records = await Promise.all(
    ids.map((id) => readMachineRecord(machineLayout(parts.resources.folderOf(id)).recordPath)),
  );
  const running = records.filter(isRunning);
  const [machines, cleaned] = await Promise.allSettled([
    Promise.all(running.map((record) => adoptMachine(parts, record))),
    removeOrphans(parts, ids, running),
  ]);
  if (machines.status === 'rejected') throw machines.reason;
  if (cleaned.status === 'rejected') throw cleaned.reason;
  return machines.value.filter((machine) => machine !== undefined);
}

function isRunning(record: MachineRecord | undefined): record is RunningRecord {
  return record?.process !== undefined && isSameProcess(record.process);
}

/** Adopts one machine. A machine that cannot be adopted is destroyed, and the result is undefined. */
async function adoptMachine(parts: AdoptionParts, record: RunningRecord): Promise<QemuMachine | undefined> {
  const { resources, cgroups, killer, cleanup, saver, log, step } = parts;
  const { sockets, logPath, recordPath, stoppedPath } = machineLayout(resources.folderOf(record.id));
  const process = new AdoptedProcess(record.process, killer);
  const releases = new ReleaseStack(step);
  const resourceReleases = new ReleaseStack(step);
  // On a disk that is full the machine is worth more than its record.
  await updateMachineRecord(recordPath, record).catch((err: unknown) =>
    log.warn({ machine_id: record.id, err }, 'machine_record_update_failed'),
  );
  try {
    const adopted = await resources.adopt(record, resourceReleases).finally(() => {
      releases.absorb(resourceReleases);
      releases.push('end process', () => process.kill());
    });
    // Without its agent ports a machine is unreachable for ever.
    await step('find agent ports', () => Promise.all([access(sockets.control), access(sockets.data)]));
    const qmp = await step('connect monitor', async () => {
      const opened = await connectMonitor(process, sockets.qmp, logPath);
      releases.push('close monitor', () => opened.close());
      return opened;
    });
    void qmp.closed.then(() => process.poll());
    await resources.shareAgentSockets(adopted, step);
    await step('finish migration', async () => finishMigration(qmp, await exists(stoppedPath)));
    // What is left of a save takes room until the machine is destroyed, but does no harm.
    await step('clean up save', () => saver.cleanUpAfter({ qmp, resources: adopted })).catch((err: unknown) =>
      log.warn({ machine_id: record.id, err }, 'save_cleanup_failed'),
    );
    const { base, requirements } = record;
    return new QemuMachine({ process, qmp, resources: adopted, releases, cgroups, base, requirements, saver, step });
  } catch (err) {
    log.warn({ machine_id: record.id, err }, 'machine_adoption_failed');
    await cleanup.release(releases);
    return undefined;
  }
}

async function exists(path: string): Promise<boolean> {
  return await access(path).then(
    () => true,
    () => false,
  );
}

/** Removes everything that belongs to this data folder but to no running machine. */
async function removeOrphans(
  parts: AdoptionParts,
  ids: readonly string[],
  running: readonly RunningRecord[],
): Promise<void> {
  const { resources, cgroups, leases, networks, agentSockets, cleanup, log, step } = parts;
  const runningIds = new Set(running.map(({ id }) => id));
  const left = [...ids, ...(await cgroups.list()), ...(await agentSockets.list())];
  const orphans = new Set(left.filter((id) => !runningIds.has(id)));
  const removals = new PQueue({ concurrency: cleanupConcurrency });
  // Ends the processes in the cgroups first: a network is removed only once no process uses it.
  await removals.addAll(
    Array.from(orphans, (id) => async () => {
      const releases = new ReleaseStack(step);
      resources.pushOrphan(id, releases);
      await cleanup.release(releases);
    }),
  );
  const runningSlots = new Set(running.map(({ lease }) => lease.slot));
  const orphanLeases: OrphanLeases<UidLease> = {
    hold: (slots) => leases.takeOver(parts.dataDir, slots).filter(({ slot }) => slots.includes(slot)),
    release: (lease) => leases.release(lease),
  };
  const removedNetworks = await networks.sweep(runningSlots, orphanLeases, (releases) => cleanup.release(releases));
  const uids = leases.reclaim();
  if (orphans.size + removedNetworks + uids.length > 0) {
    log.warn({ machines: [...orphans], networks: removedNetworks, uids }, 'orphans_removed');
  }
}
