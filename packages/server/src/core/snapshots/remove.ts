import { notFound } from '../errors/api-error.ts';
import type { SnapshotFiles } from '../ports/machine-driver.ts';
import type { Metrics } from '../ports/metrics.ts';
import type { Clock, Log } from '../ports/runtime.ts';
import type { AccountRecord } from '../ports/store/account-store.ts';
import type { BackgroundTasks } from '../scheduling/background-tasks.ts';
import type { Due } from '../scheduling/due.ts';
import { getSnapshot, type ReadSnapshotNeeds } from './read.ts';

/** What deleting the files of a snapshot needs. */
export interface DeleteFilesNeeds {
  readonly snapshots: SnapshotFiles;
  /** Whether the records of snapshots have to be compared with the files. */
  readonly snapshotsChanged: Due;
  readonly background: BackgroundTasks;
  readonly log: Log;
}

/** What deleting a snapshot needs. */
export interface DeleteSnapshotNeeds extends ReadSnapshotNeeds, DeleteFilesNeeds {
  readonly clock: Clock;
  readonly metrics: Metrics;
  /** Ids of the snapshots that are being saved or copied. */
  readonly snapshotsInFlight: ReadonlySet<string>;
}

/**
 * Deletes a snapshot: its record first, so that a crash never leaves a listed snapshot without files, then its files in the background. One that
 * is being taken is abandoned, and the request that takes it answers 503.
 */
export async function deleteSnapshot(core: DeleteSnapshotNeeds, account: AccountRecord, id: string): Promise<void> {
  const { sandboxId } = await getSnapshot(core, account, id);
  const { changed, chargedMicroUsd } = await core.store.snapshots.remove(id, core.clock.nowMs());
  if (!changed) throw notFound('snapshot');
  core.metrics.charged(chargedMicroUsd);
  core.metrics.snapshotDeleted();
  core.log.info({ snapshot_id: id, sandbox_id: sandboxId, account_id: account.id }, 'snapshot_deleted');
  core.snapshotsChanged.mark();
  // The files of one that is being taken are deleted once it is saved.
  if (!core.snapshotsInFlight.has(id)) deleteFilesLater(core, id);
}

/** Deletes the files of a snapshot that has no record. If that fails, recovery finds them and tries again. */
export function deleteFilesLater(core: DeleteFilesNeeds, id: string): void {
  void core.background.track(deleteFiles(core, id));
}

async function deleteFiles(core: DeleteFilesNeeds, id: string): Promise<void> {
  try {
    await core.snapshots.deleteSnapshot(id);
  } catch (err) {
    core.snapshotsChanged.mark();
    core.log.warn({ snapshot_id: id, err }, 'snapshot_files_deletion_failed');
  }
}
