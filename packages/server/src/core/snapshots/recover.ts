import type { Capacity } from '../admission/capacity.ts';
import type { StoredSnapshot } from '../ports/machine-driver.ts';
import type { Log } from '../ports/runtime.ts';
import type { SnapshotRecord } from '../ports/store/snapshot-store.ts';
import type { Due } from '../scheduling/due.ts';
import { type StoredBytesNeeds, updateStoredBytes } from './stored-bytes.ts';

/** What keeping the records and files of snapshots consistent needs. */
export interface KeepSnapshotsNeeds extends StoredBytesNeeds {
  readonly capacity: Capacity;
  readonly snapshotsChanged: Due;
  readonly snapshotsInFlight: ReadonlySet<string>;
  readonly log: Log;
}

/** Compares records and files if something changed since the last time, or the host process was away. Called repeatedly. */
export async function keepSnapshots(core: KeepSnapshotsNeeds): Promise<void> {
  if (!core.capacity.isHostAvailable()) {
    core.snapshotsChanged.mark();
    return;
  }
  if (!core.snapshotsChanged.take(core.clock.nowMs())) return;
  try {
    await recoverSnapshots(core);
    await updateStoredBytes(core);
  } catch (error) {
    core.snapshotsChanged.mark();
    throw error;
  }
}

/**
 * Repairs what a crash, an outage of the database or a loss of files left: removes records of snapshots that nobody takes any more, deletes files
 * without a record, and marks `ready` snapshots without files `failed`. What this process works on is left alone.
 */
async function recoverSnapshots(core: KeepSnapshotsNeeds): Promise<void> {
  // A snapshot that becomes ready after the files were listed is not among them, so only those that were ready before can have lost theirs.
  const before = await core.store.snapshots.all();
  const onDisk = await core.snapshots.snapshots();
  for (const record of before.filter(({ status }) => status === 'creating')) await removeUnfinished(core, record);
  await failWithoutFiles(core, before, onDisk);
  await deleteUnrecorded(core, onDisk);
}

async function removeUnfinished(core: KeepSnapshotsNeeds, { id, accountId, sandboxId }: SnapshotRecord): Promise<void> {
  if (core.snapshotsInFlight.has(id)) return;
  // Read again now that nobody takes it: it may have been completed in the meantime.
  const current = await core.store.snapshots.find(accountId, id);
  if (current?.status !== 'creating') return;
  await core.store.snapshots.remove(id, core.clock.nowMs());
  core.log.warn({ snapshot_id: id, sandbox_id: sandboxId, account_id: accountId }, 'unfinished_snapshot_removed');
}

async function failWithoutFiles(
  core: KeepSnapshotsNeeds,
  records: readonly SnapshotRecord[],
  onDisk: readonly StoredSnapshot[],
): Promise<void> {
  const ids = new Set(onDisk.map(({ id }) => id));
  for (const { id, status, accountId } of records) {
    if (status !== 'ready' || ids.has(id)) continue;
    const { changed, chargedMicroUsd } = await core.store.snapshots.fail(id, core.clock.nowMs());
    core.metrics.charged(chargedMicroUsd);
    if (changed) core.log.error({ snapshot_id: id, account_id: accountId }, 'snapshot_files_lost');
  }
}

async function deleteUnrecorded(core: KeepSnapshotsNeeds, onDisk: readonly StoredSnapshot[]): Promise<void> {
  const recorded = new Set((await core.store.snapshots.all()).map(({ id }) => id));
  for (const { id } of onDisk) {
    if (recorded.has(id) || core.snapshotsInFlight.has(id)) continue;
    await core.snapshots.deleteSnapshot(id);
    core.log.warn({ snapshot_id: id }, 'unrecorded_snapshot_deleted');
  }
}
