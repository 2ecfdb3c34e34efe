import type { CreateSandboxBody, SizeName } from '@mayfly/contract';
import { ApiError, notFound } from '../errors/api-error.ts';
import { SnapshotUnusable } from '../ports/machine-driver.ts';
import type { AccountRecord } from '../ports/store/account-store.ts';
import type { SandboxOrigin } from '../ports/store/sandbox-store.ts';
import type { SnapshotRecord, SnapshotStore } from '../ports/store/snapshot-store.ts';

/** What finding the source of a create needs. */
export interface FindSourceNeeds {
  readonly store: { readonly snapshots: SnapshotStore };
}

/** What a create makes its sandbox from. */
export interface SandboxSource {
  readonly size: SizeName;
  /** Null for the template of the size. */
  readonly origin: SandboxOrigin | null;
  /** Why nothing can be made from it. It does not concern a replay, whose sandbox exists. */
  readonly refusal?: ApiError;
}

/** Finds what the body of a create asks for. Throws 400 only for a body that is wrong whatever exists. */
export async function findSource(
  core: FindSourceNeeds,
  account: AccountRecord,
  { size, snapshot_id: snapshotId, template }: Pick<CreateSandboxBody, 'size' | 'snapshot_id' | 'template'>,
): Promise<SandboxSource> {
  if (snapshotId !== null && template !== null) {
    throw new ApiError('invalid_request', 'snapshot_id and template cannot be used together');
  }
  const { snapshots } = core.store;
  if (snapshotId !== null) return sourceOf(await snapshots.find(account.id, snapshotId), 'snapshot', size);
  if (template !== null) return sourceOf(await snapshots.findByAlias(account.id, template), 'template', size);
  return { size: size ?? 'small', origin: null };
}

function sourceOf(
  snapshot: SnapshotRecord | undefined,
  what: 'snapshot' | 'template',
  size: SizeName | null,
): SandboxSource {
  if (snapshot === undefined) return { size: size ?? 'small', origin: null, refusal: notFound(what) };
  const origin = { sandboxId: snapshot.sandboxId, atMs: snapshot.createdAtMs, snapshotId: snapshot.id };
  const refusal = wrongSize(snapshot, what, size) ?? unusable(snapshot);
  return { size: snapshot.size, origin, ...(refusal && { refusal }) };
}

function wrongSize(snapshot: SnapshotRecord, what: string, size: SizeName | null): ApiError | undefined {
  if (size === null || size === snapshot.size) return undefined;
  return new ApiError('invalid_request', `size must be ${snapshot.size}, the size of the ${what}, or absent`);
}

/** Whether a launch failed because its snapshot was deleted while the launch waited. False if that cannot be determined now. */
export async function wasDeletedMeanwhile(
  core: FindSourceNeeds,
  accountId: string,
  snapshotId: string,
  error: unknown,
): Promise<boolean> {
  if (!(error instanceof SnapshotUnusable)) return false;
  return await core.store.snapshots.find(accountId, snapshotId).then(
    (found) => found === undefined,
    () => false,
  );
}

/** Why no machine can be restored from a snapshot; undefined if one can. */
export function unusable({ id, status }: Pick<SnapshotRecord, 'id' | 'status'>): ApiError | undefined {
  if (status === 'ready') return undefined;
  const advice =
    status === 'creating' ? 'Wait until it is ready.' : 'Its files are lost. Delete it and take a new one.';
  return new ApiError('invalid_request', `Snapshot ${id} is not ready (status: ${status}). ${advice}`);
}
