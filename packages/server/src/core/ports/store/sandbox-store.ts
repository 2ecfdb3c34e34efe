import type { SandboxStatus, SizeName } from '@mayfly/contract';
import type { SandboxCount } from '../metrics.ts';
import type { AccountFunds } from './ledger-store.ts';

/** The statuses of sandboxes that have not ended. */
export const openStatuses = ['provisioning', 'running', 'deleting'] as const satisfies readonly SandboxStatus[];

/** What a sandbox was copied from. Times are unix milliseconds. */
export interface SandboxOrigin {
  /** The sandbox whose machine was saved. */
  readonly sandboxId: string;
  /** The instant of the copy. Snapshots of that sandbox up to this time are of the copy's line. */
  readonly atMs: number;
  /** The snapshot; null for a fork, whose snapshot is not kept. */
  readonly snapshotId: string | null;
}

/** A sandbox as it is stored. Times are unix milliseconds. */
export interface SandboxRecord {
  readonly id: string;
  readonly accountId: string;
  readonly name: string | null;
  readonly size: SizeName;
  readonly status: SandboxStatus;
  readonly statusReason: string | null;
  readonly timeoutMinutes: number;
  readonly idempotencyKey: string | null;
  /** The price when it was created, in millionths of a dollar. */
  readonly priceMicroUsdPerHour: number;
  /** The machine that serves it, once it is ready. */
  readonly machineId: string | null;
  /** Null for a sandbox that was made from the template of its size. */
  readonly origin: SandboxOrigin | null;
  /** Unique within the account, because it is the cursor of the list. */
  readonly createdAtMs: number;
  readonly readyAtMs: number | null;
  readonly expiresAtMs: number | null;
  /** When it stopped running, or stopped being provisioned: the end of the charged time if it ran. Written once. */
  readonly endedAtMs: number | null;
  readonly deletedAtMs: number | null;
}

export interface NewSandbox {
  readonly id: string;
  readonly accountId: string;
  readonly name: string | null;
  readonly size: SizeName;
  readonly timeoutMinutes: number;
  readonly idempotencyKey: string | null;
  readonly priceMicroUsdPerHour: number;
  readonly origin?: SandboxOrigin | null;
  /** Moved later if the account has a sandbox with this or a later creation time. */
  readonly createdAtMs: number;
}

/** The cost of a finished run; written to the ledger once per sandbox. */
export interface Charge {
  readonly amountMicroUsd: number;
  readonly runtimeMs: number;
  readonly atMs: number;
}

/** What a lifecycle decision writes. Fields that are left out stay as they are. */
export interface SandboxChange {
  readonly status: SandboxStatus;
  readonly statusReason?: string | null;
  readonly timeoutMinutes?: number;
  readonly machineId?: string;
  /** The instant of the copy. */
  readonly originAtMs?: number;
  readonly readyAtMs?: number;
  readonly expiresAtMs?: number;
  readonly endedAtMs?: number;
  readonly deletedAtMs?: number;
  /** Frees the idempotency key for another create. */
  readonly idempotencyKey?: null;
  readonly charge?: Charge;
}

/** The state that a decision was based on. The change is written only if it still holds. */
export type SandboxGuard = Pick<SandboxRecord, 'id' | 'status' | 'machineId' | 'expiresAtMs'>;

/** What admission is based on, read while no other create of the account can interfere. */
export interface AdmissionFacts extends AccountFunds {
  /** An operator may have suspended the account after the request was authenticated. */
  readonly suspended: boolean;
  /** The account's sandboxes that are provisioning or running. */
  readonly openSandboxes: number;
}

export type InsertOutcome<Refusal> =
  | { readonly kind: 'inserted'; readonly sandbox: SandboxRecord }
  /** The account has already used this idempotency key, for this sandbox. */
  | { readonly kind: 'replayed'; readonly sandbox: SandboxRecord }
  /** Nothing was stored. */
  | { readonly kind: 'refused'; readonly refusal: Refusal };

export interface ListPage {
  readonly limit: number;
  /** Only sandboxes created before this time. */
  readonly beforeMs?: number | undefined;
  readonly includeDeleted: boolean;
}

export interface SandboxStore {
  /**
   * Stores it as `provisioning`, unless its idempotency key was used before or `admit` refuses. Creates of one account are serialised,
   * so the facts that `admit` sees still hold when the sandbox is stored.
   */
  insert<Refusal>(
    sandbox: NewSandbox,
    admit: (facts: AdmissionFacts) => Refusal | undefined,
  ): Promise<InsertOutcome<Refusal>>;
  find(accountId: string, id: string): Promise<SandboxRecord | undefined>;
  /** Newest first. */
  list(accountId: string, page: ListPage): Promise<readonly SandboxRecord[]>;
  /**
   * Writes the change, and its charge to the ledger, if the guard still holds, and returns the new record; undefined if it does not
   * hold. A sandbox that leaves `running` loses its previews, unless its machine died.
   */
  change(guard: SandboxGuard, change: SandboxChange): Promise<SandboxRecord | undefined>;
  /** The current record, whatever the account. */
  read(id: string): Promise<SandboxRecord | undefined>;
  withStatus(statuses: readonly SandboxStatus[]): Promise<readonly SandboxRecord[]>;
  /** The number of sandboxes that have not ended, over all accounts, by status and size. Zero counts are left out. */
  countByStatus(): Promise<readonly SandboxCount[]>;
  /** Running sandboxes that have expired. */
  expired(nowMs: number): Promise<readonly SandboxRecord[]>;
}
