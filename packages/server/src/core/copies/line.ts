import { ApiError, notFound } from '../errors/api-error.ts';
import type { AccountRecord } from '../ports/store/account-store.ts';
import type { SandboxOrigin, SandboxRecord, SandboxStore } from '../ports/store/sandbox-store.ts';
import type { SnapshotRecord, SnapshotStore } from '../ports/store/snapshot-store.ts';
import { unusable } from '../sandboxes/source.ts';

/** What finding a snapshot of a sandbox's line needs. */
export interface FindOfLineNeeds {
  readonly store: { readonly sandboxes: SandboxStore; readonly snapshots: SnapshotStore };
}

/**
 * The snapshot that a sandbox may return to: one of its own, or one of a sandbox that it was copied from, up to the instant of the copy. Throws 404
 * for a snapshot that the account does not have, else 400.
 */
export async function findSnapshotOfLine(
  core: FindOfLineNeeds,
  account: AccountRecord,
  sandbox: SandboxRecord,
  snapshotId: string,
): Promise<SnapshotRecord> {
  const snapshot = await core.store.snapshots.find(account.id, snapshotId);
  if (snapshot === undefined) throw notFound('snapshot');
  const refusal = unusable(snapshot);
  if (refusal !== undefined) throw refusal;
  if (await isOfLine(core, account, sandbox, snapshot)) return snapshot;
  const line = `of sandbox ${sandbox.id}, nor of a sandbox that ${sandbox.id} was copied from before that copy was made`;
  throw new ApiError(
    'invalid_request',
    `Snapshot ${snapshot.id} was not taken ${line}. Create a new sandbox from the snapshot instead.`,
  );
}

async function isOfLine(
  { store }: FindOfLineNeeds,
  account: AccountRecord,
  sandbox: SandboxRecord,
  snapshot: SnapshotRecord,
): Promise<boolean> {
  if (snapshot.sandboxId === sandbox.id) return true;
  let origin: SandboxOrigin | null | undefined = sandbox.origin;
  // Every origin is earlier than the one before it, so once they are earlier than the snapshot, none can have it.
  while (origin && snapshot.createdAtMs <= origin.atMs) {
    if (snapshot.sandboxId === origin.sandboxId) return true;
    origin = (await store.sandboxes.find(account.id, origin.sandboxId))?.origin;
  }
  return false;
}
