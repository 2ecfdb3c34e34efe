import type { AccountStore } from './account-store.ts';
import type { AuditStore } from './audit-store.ts';
import type { ExecutionStore } from './execution-store.ts';
import type { LedgerStore } from './ledger-store.ts';
import type { PreviewStore } from './preview-store.ts';
import type { SandboxStore } from './sandbox-store.ts';
import type { SignInStore } from './sign-in-store.ts';
import type { SnapshotStore } from './snapshot-store.ts';

/** Everything that outlives the process. */
export interface Store {
  readonly accounts: AccountStore;
  readonly sandboxes: SandboxStore;
  readonly snapshots: SnapshotStore;
  readonly executions: ExecutionStore;
  readonly ledger: LedgerStore;
  readonly previews: PreviewStore;
  readonly audit: AuditStore;
  readonly signIns: SignInStore;
  readonly retention: RetentionStore;
  readonly owner: OwnerStore;
  close(): Promise<void>;
}

/** The service that the database belongs to. */
export interface OwnerStore {
  /** Claims the database for a data folder if it is unclaimed. Returns whether it belongs to this data folder. */
  belongsTo(dataFolderId: string): Promise<boolean>;
  /** Records that the service is alive and has looked after its machines until now. */
  noteAlive(nowMs: number): Promise<void>;
  /** The time last recorded by `noteAlive`; null if never. */
  lastAliveMs(): Promise<number | null>;
}

/** Removes records past their retention, in small batches so that nothing else has to wait. */
export interface RetentionStore {
  /** Removes up to `limit` executions that ended before a time; returns how many. */
  removeExecutions(endedBeforeMs: number, limit: number): Promise<number>;
  /** Removes up to `limit` deleted and failed sandboxes that were created before a time and have neither executions, snapshots nor copies left; returns how many. */
  removeSandboxes(createdBeforeMs: number, limit: number): Promise<number>;
  /** Removes up to `limit` events of the audit trail before a time; returns how many. */
  removeAuditEvents(beforeMs: number, limit: number): Promise<number>;
  /** Removes up to `limit` sessions that were last used before one time or created before another; returns how many. */
  removeSessions(before: { readonly usedMs: number; readonly createdMs: number }, limit: number): Promise<number>;
  /** Removes up to `limit` sign-in links that expired before a time; returns how many. */
  removeSignInLinks(expiredBeforeMs: number, limit: number): Promise<number>;
}
