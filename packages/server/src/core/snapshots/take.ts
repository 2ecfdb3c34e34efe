import type { CreateSnapshotBody, Limits } from '@mayfly/contract';
import { limitsOf } from '../accounts/account-limits.ts';
import { ApiError } from '../errors/api-error.ts';
import type { Ids } from '../ports/runtime.ts';
import type { AccountRecord } from '../ports/store/account-store.ts';
import type { SandboxRecord } from '../ports/store/sandbox-store.ts';
import type { NewSnapshot, SnapshotRecord } from '../ports/store/snapshot-store.ts';
import { getSandbox, type ReadSandboxNeeds, refusalUnlessRunning } from '../sandboxes/read.ts';
import { admitSnapshot } from './admit.ts';
import { deleteFilesLater } from './remove.ts';
import { admitSave, expectedBytes, type SaveNeeds, saveFailure, saveMachine } from './save-machine.ts';
import type { SaveInFlight } from './saves-in-flight.ts';
import { bytesOfNewest, type StoredBytesNeeds } from './stored-bytes.ts';

/** What taking a snapshot needs. */
export type TakeSnapshotNeeds = ReadSandboxNeeds &
  SaveNeeds &
  StoredBytesNeeds & {
    readonly ids: Ids;
    readonly limits: Limits;
    /** In millionths of a dollar per GiB and 30 days; copied into each snapshot when it is taken. */
    readonly snapshotPriceMicroUsdPerGbMonth: number;
  };

export interface TakeOutcome {
  readonly snapshot: SnapshotRecord;
  /** False when an earlier request with the same idempotency key took the snapshot. */
  readonly created: boolean;
}

/**
 * Saves memory and disk of a running sandbox and returns once the snapshot is `ready`. The same idempotency key returns the same snapshot, also if the
 * request names another sandbox of the account; one that the account never had is not found.
 */
export async function takeSnapshot(
  core: TakeSnapshotNeeds,
  account: AccountRecord,
  sandboxId: string,
  body: CreateSnapshotBody,
  idempotencyKey: string | null,
): Promise<TakeOutcome> {
  const sandbox = await getSandbox(core, account, sandboxId);
  const wanted: NewSnapshot = {
    id: core.ids.next('snap'),
    accountId: account.id,
    sandboxId,
    name: body.name,
    alias: body.alias,
    size: sandbox.size,
    idempotencyKey,
    priceMicroUsdPerGbMonth: core.snapshotPriceMicroUsdPerGbMonth,
    createdAtMs: core.clock.nowMs(),
  };
  const neededBytes = await expectedBytes(core, sandboxId);
  return core.savesInFlight.run(wanted.id, { neededBytes, accountId: account.id }, (take) =>
    insertAndSave(core, account, { wanted, sandbox }, take),
  );
}

async function insertAndSave(
  core: TakeSnapshotNeeds,
  account: AccountRecord,
  { wanted, sandbox }: { readonly wanted: NewSnapshot; readonly sandbox: SandboxRecord },
  take: SaveInFlight,
): Promise<TakeOutcome> {
  const request = { wanted, sandbox, limits: limitsOf(core.limits, account), nowMs: core.clock.nowMs() };
  const inserted = await core.store.snapshots.insert(wanted, (facts) => {
    const inProgressBytes = core.savesInFlight.admittedBytesBeside(wanted.id, account.id);
    return admitSnapshot({ ...facts, inProgressBytes }, request) ?? admitSave(core, take);
  });
  switch (inserted.kind) {
    case 'refused':
      throw inserted.refusal;
    case 'replayed':
      return { snapshot: await replay(core, inserted.snapshot), created: false };
    case 'inserted':
      return { snapshot: await saveAndComplete(core, inserted.snapshot), created: true };
  }
}

/** The snapshot of an earlier request with the same key. Waits for a request in flight and fails if it fails. */
async function replay(core: TakeSnapshotNeeds, earlier: SnapshotRecord): Promise<SnapshotRecord> {
  if (earlier.status !== 'creating') return earlier;
  await core.savesInFlight.outcomeOf(earlier.id);
  const latest = await core.store.snapshots.find(earlier.accountId, earlier.id);
  if (latest !== undefined && latest.status !== 'creating') return latest;
  // Nobody takes it any more, and recovery removes its record.
  const reason = 'An earlier request with this Idempotency-Key was interrupted. Try again in a minute.';
  throw new ApiError('provisioning_failed', reason);
}

/** Makes a `creating` snapshot `ready`, or leaves nothing of it behind and throws. */
async function saveAndComplete(core: TakeSnapshotNeeds, snapshot: SnapshotRecord): Promise<SnapshotRecord> {
  const { id, size, accountId, sandboxId } = snapshot;
  const ids = { snapshot_id: id, sandbox_id: sandboxId, account_id: accountId };
  const startedAtMs = performance.now();
  try {
    const { snapshot: stored, pausedMs } = await saveMachine(core, { snapshotId: id, sandboxId, accountId });
    const bytes = await bytesOfNewest(core, snapshot, stored);
    const ready = await core.store.snapshots.complete(id, bytes, core.clock.nowMs());
    if (ready === undefined) {
      throw new ApiError('provisioning_failed', 'The snapshot was deleted while it was being taken.');
    }
    const durationMs = performance.now() - startedAtMs;
    core.metrics.snapshotEnded({ size, outcome: 'ready', durationMs });
    core.log.info(
      { ...ids, bytes, save_ms: Math.round(durationMs), paused_ms: Math.round(pausedMs) },
      'snapshot_taken',
    );
    return ready;
  } catch (error) {
    core.metrics.snapshotEnded({ size, outcome: 'failed', durationMs: performance.now() - startedAtMs });
    core.log.error({ ...ids, err: error }, 'snapshot_failed');
    await giveUp(core, snapshot);
    throw await answerFor(core, snapshot, error);
  } finally {
    core.snapshotsChanged.mark();
  }
}

/** Removes the record, then the files. While the record cannot be removed the files stay: it may have become `ready`. */
async function giveUp(core: TakeSnapshotNeeds, { id }: SnapshotRecord): Promise<void> {
  try {
    await core.store.snapshots.remove(id, core.clock.nowMs());
    deleteFilesLater(core, id);
  } catch (err) {
    core.log.error({ snapshot_id: id, err }, 'snapshot_removal_failed');
  }
}

/** What the caller is told: that the sandbox ended, if that is the reason. */
async function answerFor(core: TakeSnapshotNeeds, { sandboxId }: SnapshotRecord, error: unknown): Promise<ApiError> {
  if (error instanceof ApiError) return error;
  const sandbox = await core.store.sandboxes.read(sandboxId).catch(() => undefined);
  const ended = sandbox && refusalUnlessRunning(sandbox);
  if (ended !== undefined) return ended;
  const { type, message } = saveFailure(error);
  return new ApiError(type, `The snapshot could not be taken: ${message}. Try again later.`, { cause: error });
}
