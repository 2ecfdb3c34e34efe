import type { ListSnapshotsQuery } from '@mayfly/contract';
import { notFound } from '../errors/api-error.ts';
import type { AccountRecord } from '../ports/store/account-store.ts';
import type { SnapshotRecord, SnapshotStore } from '../ports/store/snapshot-store.ts';
import { pageOf } from '../sandboxes/read.ts';

/** What finding and listing snapshots needs. */
export interface ReadSnapshotNeeds {
  readonly store: { readonly snapshots: SnapshotStore };
}

export interface SnapshotListPage {
  readonly snapshots: readonly SnapshotRecord[];
  /** The creation time after which the next page starts; null on the last page. */
  readonly nextCursorMs: number | null;
}

/** One snapshot of the account. A snapshot of another account is not found. */
export async function getSnapshot(
  core: ReadSnapshotNeeds,
  account: AccountRecord,
  id: string,
): Promise<SnapshotRecord> {
  const snapshot = await core.store.snapshots.find(account.id, id);
  if (snapshot === undefined) throw notFound('snapshot');
  return snapshot;
}

/** One page of the account's snapshots, newest first. */
export async function listSnapshots(
  core: ReadSnapshotNeeds,
  account: AccountRecord,
  { limit, starting_after: beforeMs }: ListSnapshotsQuery,
): Promise<SnapshotListPage> {
  const found = await core.store.snapshots.list(account.id, { limit: limit + 1, beforeMs });
  const { items: snapshots, nextCursorMs } = pageOf(found, limit);
  return { snapshots, nextCursorMs };
}
