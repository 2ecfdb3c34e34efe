import { lstat } from 'node:fs/promises';
import { isAbsolute } from 'node:path';
import PQueue from 'p-queue';
import type { Log } from '../../../core/ports/runtime.ts';
import { type Cgroups, errorCode } from '../jail/cgroups.ts';
import { writesNamedFile } from '../jail/proc.ts';
import type { UidLeases } from '../jail/uid-leases.ts';
import type { MachineNetworks } from '../network/machine-networks.ts';
import { type OwnerRecords, serviceGroupOf } from './owner-records.ts';

/** How many machines are ended at once. */
const cleanupConcurrency = 8;

export interface ReclaimParts {
  /** The data folder of this host process. */
  readonly dataDir: string;
  readonly owners: Pick<OwnerRecords, 'exclusively' | 'list' | 'isRunning' | 'remove'>;
  readonly leases: Pick<UidLeases, 'dataFolders' | 'isHeld' | 'takeOver' | 'releaseUnused'>;
  readonly networks: Pick<MachineNetworks, 'listOwners' | 'slotsOf' | 'reclaim'>;
  /** The cgroups of another data folder. */
  readonly cgroupsOf: (dataDir: string) => Pick<Cgroups, 'list' | 'pidsOf' | 'remove' | 'removeEmptyParents'>;
  /** The cgroups of Mayfly's own processes, of all data folders. */
  readonly processGroups: Pick<Cgroups, 'remove'>;
  readonly log: Log;
}

/**
 * Removes what the host processes of data folders that no longer exist left on this host: processes, cgroups, networks and uid leases. Nobody else
 * would, because each host process cleans up only for its own data folder. Never rejects: what fails is logged and left for the next start.
 */
export async function reclaimVanishedOwners(parts: ReclaimParts): Promise<void> {
  const { dataDir: own, owners, leases, networks, log } = parts;
  try {
    await owners.exclusively(async () => {
      const known = new Set([...(await owners.list()), ...leases.dataFolders(), ...(await networks.listOwners())]);
      known.delete(own);
      for (const dataDir of known) {
        await reclaimIfVanished(parts, dataDir).catch((err: unknown) =>
          log.error({ data_folder: dataDir, err }, 'vanished_owner_reclaim_failed'),
        );
      }
    });
  } catch (err) {
    log.error({ err }, 'vanished_owners_reclaim_failed');
  }
}

async function reclaimIfVanished(parts: ReclaimParts, dataDir: string): Promise<void> {
  const { owners, leases, networks, cgroupsOf, processGroups, log } = parts;
  if (!(await isMissing(dataDir)) || (await owners.isRunning(dataDir)) || leases.isHeld(dataDir)) return;
  const cgroups = cgroupsOf(dataDir);
  const ids = await cgroups.list();
  const pids = (await Promise.all(ids.map((id) => cgroups.pidsOf(id)))).flat();
  if (pids.some(writesNamedFile)) {
    log.warn({ data_folder: dataDir, machines: ids }, 'missing_owner_kept');
    return;
  }
  // From here on the leases are this host process's, so that no other one uses a slot before its network is removed.
  const held = leases.takeOver(dataDir, await networks.slotsOf(dataDir));
  const slots = new Set(held.map(({ slot }) => slot));
  await new PQueue({ concurrency: cleanupConcurrency }).addAll(ids.map((id) => () => cgroups.remove(id)));
  await processGroups.remove(serviceGroupOf(dataDir));
  const removed = await networks.reclaim(dataDir, slots);
  const uids = leases.releaseUnused(dataDir);
  await cgroups.removeEmptyParents();
  await owners.remove(dataDir);
  log.warn({ data_folder: dataDir, machines: ids, networks: removed, uids }, 'vanished_owner_reclaimed');
}

/** Whether there is certainly nothing at a path. */
async function isMissing(path: string): Promise<boolean> {
  if (!isAbsolute(path)) return false;
  return await lstat(path).then(
    () => false,
    (error: unknown) => ['ENOENT', 'ENOTDIR'].includes(errorCode(error) ?? ''),
  );
}
