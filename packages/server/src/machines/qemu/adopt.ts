import { access, readdir } from 'node:fs/promises';
import type { Log } from '../../core/ports/log.ts';
import { AdoptedProcess } from './adopted-process.ts';
import type { Debris } from './debris.ts';
import type { Grounds } from './grounds.ts';
import { Holdings } from './holdings.ts';
import type { Cgroups } from './jail/cgroup/cgroups.ts';
import { isSameProcess, type ProcessIdentity } from './jail/process-identity.ts';
import type { UidLeases } from './jail/uid-leases.ts';
import { machineLayout } from './layout.ts';
import { QemuMachine } from './machine.ts';
import { type MachineRecord, readMachineRecord } from './machine-record.ts';
import { connectMonitor } from './monitor.ts';
import type { NetworkPool } from './network/machine-network.ts';
import { settleMigration } from './qmp/migration.ts';
import type { StepRunner } from './steps.ts';

export interface AdoptionParts {
  readonly machinesDir: string;
  readonly grounds: Grounds;
  readonly cgroups: Cgroups;
  readonly leases: UidLeases;
  readonly pool: NetworkPool;
  readonly debris: Debris;
  readonly log: Log;
  readonly step: StepRunner;
}

type LivingRecord = MachineRecord & { readonly process: ProcessIdentity };

const isLiving = (record: MachineRecord | undefined): record is LivingRecord =>
  record?.process !== undefined && isSameProcess(record.process);

/** Takes one machine over that an earlier service left running. One that cannot be taken over is ended and cleared away; then undefined. */
const adoptOne = async (parts: AdoptionParts, record: LivingRecord): Promise<QemuMachine | undefined> => {
  const { grounds, debris, log, step } = parts;
  const { sockets, logPath } = machineLayout(grounds.folderOf(record.id));
  const process = new AdoptedProcess(record.process);
  const [holdings, standing] = [new Holdings(step), new Holdings(step)];
  try {
    const ground = await grounds.adopt(record, standing).finally(() => {
      holdings.takeFrom(standing);
      holdings.hold('end process', () => process.kill());
    });
    // Nobody could ever speak to a machine whose ports are gone.
    await step('find agent ports', () => Promise.all([access(sockets.control), access(sockets.data)]));
    const qmp = await step('connect monitor', async () => {
      const opened = await connectMonitor(process, sockets.qmp, logPath);
      holdings.hold('close monitor', () => opened.close());
      return opened;
    });
    void qmp.closed.then(() => process.look());
    await step('settle migration', () => settleMigration(qmp));
    return new QemuMachine({ process, qmp, ground, holdings, step });
  } catch (error) {
    log.warn({ machine_id: record.id, error }, 'machine_not_adopted');
    await debris.clear(holdings);
    return undefined;
  }
};

/** Clears away what is left of a machine that is gone. */
const clearOne = async ({ grounds, debris, step }: AdoptionParts, id: string): Promise<void> => {
  const holdings = new Holdings(step);
  grounds.holdStray(id, holdings);
  await debris.clear(holdings);
};

/**
 * Takes over every machine that an earlier service of the same data folder left running, and clears away all that machines left which
 * are gone: folders, cgroups with what still runs in them, networks, user ids. Never touches what is another data folder's, and nothing at
 * all when a newer Mayfly left a machine whose record this one cannot read.
 */
export const adoptMachines = async (parts: AdoptionParts): Promise<QemuMachine[]> => {
  const ids = await readdir(parts.machinesDir).catch(() => []);
  const records = await Promise.all(
    ids.map(async (id) => readMachineRecord(machineLayout(parts.grounds.folderOf(id)).recordPath)),
  );
  const living = records.filter(isLiving);
  const machines = (await Promise.all(living.map((record) => adoptOne(parts, record)))).filter((machine) => !!machine);
  const known = new Set(living.map(({ id }) => id));
  const strays = new Set([...ids, ...(await parts.cgroups.list())].filter((id) => !known.has(id)));
  for (const id of strays) await clearOne(parts, id);
  const liveSlots = new Set(living.map(({ lease }) => lease.slot));
  const networks = await parts.pool.sweep(liveSlots, (holdings) => parts.debris.clear(holdings));
  const uids = await parts.leases.reclaim();
  if (strays.size + networks + uids.length > 0) {
    parts.log.warn({ machines: [...strays], networks, uids }, 'strays_cleared');
  }
  return machines;
};
