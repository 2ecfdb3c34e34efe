import type { SizeName, SnapshotStatus } from '@mayfly/contract';
import type { SnapshotCount } from '../metrics.ts';
import type { AccountFunds } from './ledger-store.ts';

/** A snapshot as it is stored. Times are unix milliseconds. */
export interface SnapshotRecord {
  readonly id: string;
  readonly accountId: string;
  /** The sandbox that was saved. */
  readonly sandboxId: string;
  readonly name: string | null;
  /** Unique within the account. A snapshot with an alias is a template. */
  readonly alias: string | null;
  readonly size: SizeName;
  readonly status: SnapshotStatus;
  /** What its files take on disk; a file that several snapshots of the account share counts for the oldest of them. */
  readonly bytes: number;
  readonly idempotencyKey: string | null;
  /** The price when it was taken, in millionths of a dollar per GiB and 30 days. */
  readonly priceMicroUsdPerGbMonth: number;
  /** The time until which its storage is charged. */
  readonly chargedUntilMs: number;
  /** Unique within the account, because it is the cursor of the list. */
  readonly createdAtMs: number;
}

export interface NewSnapshot {
  readonly id: string;
  readonly accountId: string;
  readonly sandboxId: string;
  readonly name: string | null;
  readonly alias: string | null;
  readonly size: SizeName;
  readonly idempotencyKey: string | null;
  readonly priceMicroUsdPerGbMonth: number;
  /** Moved later if the account has a snapshot with this or a later creation time. */
  readonly createdAtMs: number;
}

/** What the admission of a snapshot is based on, read while no other change of the account can interfere. */
export interface SnapshotFacts extends AccountFunds {
  readonly suspended: boolean;
  /** The account's snapshots, those in progress included. */
  readonly snapshots: number;
  readonly storedBytes: number;
  /** Whether another snapshot of the account has the alias. */
  readonly aliasTaken: boolean;
}

export type SnapshotInsertOutcome<Refusal> =
  | { readonly kind: 'inserted'; readonly snapshot: SnapshotRecord }
  /** The account has already used this idempotency key, for this snapshot. */
  | { readonly kind: 'replayed'; readonly snapshot: SnapshotRecord }
  /** Nothing was stored. */
  | { readonly kind: 'refused'; readonly refusal: Refusal };

export interface SnapshotPage {
  readonly limit: number;
  /** Only snapshots created before this time. */
  readonly beforeMs?: number | undefined;
}

export interface SnapshotStore {
  /** Stores it as `creating`, unless its idempotency key was used before or `admit` refuses. Changes of one account are serialised. */
  insert<Refusal>(
    snapshot: NewSnapshot,
    admit: (facts: SnapshotFacts) => Refusal | undefined,
  ): Promise<SnapshotInsertOutcome<Refusal>>;
  find(accountId: string, id: string): Promise<SnapshotRecord | undefined>;
  /** The `ready` snapshot of the account with this alias. */
  findByAlias(accountId: string, alias: string): Promise<SnapshotRecord | undefined>;
  /** Newest first, those in progress included. */
  list(accountId: string, page: SnapshotPage): Promise<readonly SnapshotRecord[]>;
  /** Makes a snapshot that is `creating` `ready`, and charges its storage from now on; undefined if it is not `creating` any more. */
  complete(id: string, bytes: number, nowMs: number): Promise<SnapshotRecord | undefined>;
  /** Makes a snapshot that is `ready` `failed`: its files are gone. Frees its alias and its idempotency key. Charges its storage until now. */
  fail(id: string, nowMs: number): Promise<StorageCharge>;
  /** Removes the record and charges its storage until now. */
  remove(id: string, nowMs: number): Promise<StorageCharge>;
  /** Charges the storage of a snapshot that is `ready` until now, at its old size, and stores the new size. */
  resize(id: string, bytes: number, nowMs: number): Promise<StorageCharge>;
  /** All snapshots of all accounts, oldest first. */
  all(): Promise<readonly SnapshotRecord[]>;
  /** The number of snapshots over all accounts and what they take on disk, by status. Statuses without a snapshot are left out. */
  countByStatus(): Promise<readonly SnapshotCount[]>;
}

/** What a change of a snapshot wrote. Nothing was changed if there was no such snapshot, or it did not have the status that the change needs. */
export type StorageCharge =
  | { readonly changed: true; readonly chargedMicroUsd: number; readonly accountId: string }
  | { readonly changed: false; readonly chargedMicroUsd: 0 };
