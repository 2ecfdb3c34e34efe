import { type AccountLimits, formatBytes, quoteForMessage } from '@mayfly/contract';
import { ApiError, accountSuspended } from '../errors/api-error.ts';
import { liveBalanceMicroUsd } from '../money/balance.ts';
import type { SandboxRecord } from '../ports/store/sandbox-store.ts';
import type { NewSnapshot, SnapshotFacts } from '../ports/store/snapshot-store.ts';
import { refusalUnlessRunning } from '../sandboxes/read.ts';

const mebibyte = 1024 ** 2;

export interface SnapshotRequest {
  readonly wanted: NewSnapshot;
  /** The sandbox to be saved. */
  readonly sandbox: SandboxRecord;
  readonly limits: Pick<AccountLimits, 'snapshots' | 'snapshotStorageMb'>;
  readonly nowMs: number;
}

/** What the admission of a snapshot is based on. */
interface SnapshotAdmissionFacts extends SnapshotFacts {
  /** The disk space that the other snapshots that the account takes at the moment are expected to need. */
  readonly inProgressBytes: number;
}

/** Why a snapshot is refused: account, alias, sandbox, credit, then quotas; undefined if it is not. Pure. */
export function admitSnapshot(facts: SnapshotAdmissionFacts, request: SnapshotRequest): ApiError | undefined {
  const { wanted, sandbox, limits, nowMs } = request;
  if (facts.suspended) return accountSuspended();
  if (facts.aliasTaken) return aliasTaken(wanted.alias ?? '');
  const notRunning = refusalUnlessRunning(sandbox);
  if (notRunning !== undefined) return notRunning;
  const isFree = sandbox.priceMicroUsdPerHour === 0 && wanted.priceMicroUsdPerGbMonth === 0;
  if (!isFree && liveBalanceMicroUsd(facts, nowMs) <= 0) {
    return new ApiError('insufficient_credits', 'The balance has reached zero. Add credit to take snapshots.');
  }
  if (facts.snapshots >= limits.snapshots) {
    return new ApiError(
      'quota_exceeded',
      `This account is limited to ${limits.snapshots} snapshots. Delete one first.`,
    );
  }
  return refusalForStorage(facts, limits.snapshotStorageMb * mebibyte);
}

/** What a snapshot will take is unknown before it is saved, so the last one that is admitted may exceed the limit. */
function refusalForStorage(
  { storedBytes, inProgressBytes }: SnapshotAdmissionFacts,
  maxBytes: number,
): ApiError | undefined {
  if (storedBytes + inProgressBytes < maxBytes) return undefined;
  const stored = `The snapshots of this account take ${formatBytes(storedBytes)} of disk space`;
  const limit = `and the limit is ${formatBytes(maxBytes)}`;
  if (storedBytes >= maxBytes) return new ApiError('quota_exceeded', `${stored}, ${limit}. Delete one first.`);
  const inProgress = `those in progress may need ${formatBytes(inProgressBytes)}`;
  const advice = 'Wait until they are ready, or delete one first.';
  return new ApiError('quota_exceeded', `${stored}, ${inProgress}, ${limit}. ${advice}`);
}

function aliasTaken(alias: string): ApiError {
  const taken = `another snapshot of this account has the alias ${quoteForMessage(alias, 100)}`;
  return new ApiError('invalid_request', `${taken}: delete that snapshot first, or choose another alias`);
}
