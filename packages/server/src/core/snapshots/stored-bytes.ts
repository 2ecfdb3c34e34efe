import type { SnapshotFiles, StoredSnapshot } from '../ports/machine-driver.ts';
import type { Metrics } from '../ports/metrics.ts';
import type { Clock } from '../ports/runtime.ts';
import type { SnapshotRecord, SnapshotStore } from '../ports/store/snapshot-store.ts';

/** What measuring and charging stored snapshots needs. */
export interface StoredBytesNeeds {
  readonly store: { readonly snapshots: SnapshotStore };
  readonly snapshots: SnapshotFiles;
  readonly clock: Clock;
  readonly metrics: Metrics;
}

/** Storage is charged at least this often, so that usage shows it close to the day it was used. */
const chargePeriodMs = 86_400_000;

type Owned = Pick<SnapshotRecord, 'id' | 'accountId' | 'createdAtMs'>;

/**
 * What each snapshot takes on disk. A file that several snapshots of an account share counts for the oldest of them. Snapshots that are not on disk
 * are left out. Pure.
 */
export function storedBytes(onDisk: readonly StoredSnapshot[], records: readonly Owned[]): ReadonlyMap<string, number> {
  const stored = new Map(onDisk.map((snapshot) => [snapshot.id, snapshot]));
  const counted = new Map<string, Set<string>>();
  const bytes = new Map<string, number>();
  for (const { id, accountId } of records.toSorted((one, other) => one.createdAtMs - other.createdAtMs)) {
    const files = stored.get(id)?.files;
    if (files === undefined) continue;
    const seen = counted.get(accountId) ?? new Set();
    counted.set(accountId, seen);
    bytes.set(
      id,
      files.reduce((sum, file) => sum + (seen.has(file.id) ? 0 : file.bytes), 0),
    );
    for (const file of files) seen.add(file.id);
  }
  return bytes;
}

/** What a snapshot that was just saved takes on disk. If that cannot be determined now, files that it shares are included until the next update. */
export async function bytesOfNewest(
  core: StoredBytesNeeds,
  snapshot: SnapshotRecord,
  stored: StoredSnapshot,
): Promise<number> {
  const all = stored.files.reduce((sum, file) => sum + file.bytes, 0);
  try {
    const records = await core.store.snapshots.all();
    const own = records.filter(({ accountId }) => accountId === snapshot.accountId);
    return storedBytes(await core.snapshots.snapshots(), own).get(snapshot.id) ?? all;
  } catch {
    return all;
  }
}

/** Stores what each `ready` snapshot takes on disk, and charges storage that was not charged for a day. */
export async function updateStoredBytes(core: StoredBytesNeeds): Promise<void> {
  const onDisk = await core.snapshots.snapshots();
  const records = await core.store.snapshots.all();
  const current = storedBytes(onDisk, records);
  const nowMs = core.clock.nowMs();
  for (const { id, status, bytes: before, chargedUntilMs, priceMicroUsdPerGbMonth } of records) {
    const bytes = current.get(id);
    if (status !== 'ready' || bytes === undefined) continue;
    const isChargeDue = priceMicroUsdPerGbMonth > 0 && nowMs - chargedUntilMs >= chargePeriodMs;
    if (bytes === before && !isChargeDue) continue;
    const { chargedMicroUsd } = await core.store.snapshots.resize(id, bytes, nowMs);
    core.metrics.charged(chargedMicroUsd);
  }
}
