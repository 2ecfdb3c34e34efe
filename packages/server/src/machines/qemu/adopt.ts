import { readdir, rm } from 'node:fs/promises';
import type { Log } from '../../core/ports/log.ts';
import { AdoptedProcess } from './adopted-process.ts';
import type { Grounds } from './grounds.ts';
import type { Cgroups } from './jail/cgroup/cgroups.ts';
import { isSameProcess, type ProcessIdentity } from './jail/process-identity.ts';
import type { UidLeases } from './jail/uid-leases.ts';
import { machineLayout } from './layout.ts';
import { QemuMachine } from './machine.ts';
import { type MachineRecord, readMachineRecord } from './machine-record.ts';
import { connectMonitor } from './monitor.ts';
import type { MachineNetwork, NetworkPool } from './network/machine-network.ts';
import { settleMigration } from './qmp/migration.ts';

export interface AdoptionParts {
  readonly machinesDir: string;
  readonly grounds: Grounds;
  readonly cgroups: Cgroups;
  readonly leases: UidLeases;
  readonly pool: NetworkPool;
  readonly log: Log;
}

type LivingRecord = MachineRecord & { readonly process: ProcessIdentity };

const isLiving = (record: MachineRecord | undefined): record is LivingRecord =>
  record?.process !== undefined && isSameProcess(record.process);

/** Takes one machine over that an earlier service left running; undefined when it does not answer any more. */
const adoptOne = async (parts: AdoptionParts, record: LivingRecord): Promise<QemuMachine | undefined> => {
  const { id, size, lease } = record;
  const layout = machineLayout(parts.grounds.folderOf(id));
  const process = new AdoptedProcess(record.process);
  let network: MachineNetwork | undefined;
  try {
    network = await parts.pool.adopt(lease.slot);
    const qmp = await connectMonitor(process, layout.sockets.qmp, layout.logPath);
    void qmp.closed.then(() => process.look());
    await settleMigration(qmp);
    return new QemuMachine({ process, qmp, ground: { id, size, layout, lease, network } }, parts.grounds);
  } catch (error) {
    parts.log.warn({ machine_id: id, error }, 'machine_not_adopted');
    await process.kill();
    // The pool holds it now, so no sweep would find it.
    await network?.release();
    return undefined;
  }
};

/** Clears away what is left of a machine that is gone; its network and user id go with the sweeps. */
const clearOne = async ({ grounds, cgroups }: AdoptionParts, id: string): Promise<void> => {
  await cgroups.remove(id);
  await rm(grounds.folderOf(id), { recursive: true, force: true });
};

/**
 * Takes over every machine that an earlier service of the same data folder left running, and clears away all that machines left which
 * are gone: folders, cgroups with what still runs in them, networks, user ids. Never touches what is another data folder's.
 */
export const adoptMachines = async (parts: AdoptionParts): Promise<QemuMachine[]> => {
  const ids = await readdir(parts.machinesDir).catch(() => []);
  const records = await Promise.all(
    ids.map(async (id) => readMachineRecord(machineLayout(parts.grounds.folderOf(id)).recordPath)),
  );
  const living = records.filter(isLiving);
  const machines = (await Promise.all(living.map((record) => adoptOne(parts, record)))).filter((machine) => !!machine);
  const kept = new Set(machines.map(({ id }) => id));
  const strays = new Set([...ids, ...(await parts.cgroups.list())].filter((id) => !kept.has(id)));
  for (const id of strays) await clearOne(parts, id);
  const liveSlots = new Set(living.filter(({ id }) => kept.has(id)).map(({ lease }) => lease.slot));
  const networks = await parts.pool.sweep(liveSlots);
  const uids = await parts.leases.reclaim();
  if (strays.size + networks + uids.length > 0) {
    parts.log.warn({ machines: [...strays], networks, uids }, 'strays_cleared');
  }
  return machines;
};
