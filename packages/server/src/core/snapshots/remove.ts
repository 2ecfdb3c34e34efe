import type { Core } from '../context.ts';
import { notFound } from '../errors/api-error.ts';
import type { AccountRecord } from '../ports/store/account-store.ts';
import { getSnapshot } from './read.ts';

/**
 * Deletes a snapshot: its record first, so that a crash never leaves a listed snapshot without files, then its files in the background. One that
 * is being taken is abandoned, and the request that takes it answers 503.
 */
export async function deleteSnapshot(core: Core, account: AccountRecord, id: string): Promise<void> {
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
export function deleteFilesLater(core: Core, id: string): void {
  void core.background.track(deleteFiles(core, id));
}

async function deleteFiles(core: Core, id: string): Promise<void> {
  try {
    await core.snapshots.deleteSnapshot(id);
  } catch (err) {
    core.snapshotsChanged.mark();
    core.log.warn({ snapshot_id: id, err }, 'snapshot_files_deletion_failed');
  }
}
