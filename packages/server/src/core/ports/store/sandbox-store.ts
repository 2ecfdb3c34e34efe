import type { SandboxStatus, SizeName } from '@mayfly/contract';
import type { SandboxCount } from '../metrics.ts';
import type { AccountFunds } from './ledger-store.ts';

/** The statuses of sandboxes that are not over. */
export const openStatuses = ['provisioning', 'running', 'deleting'] as const satisfies readonly SandboxStatus[];

/** A sandbox as it is kept. Times are unix milliseconds. */
export interface SandboxRecord {
  readonly id: string;
  readonly accountId: string;
  readonly name: string | null;
  readonly size: SizeName;
  readonly status: SandboxStatus;
  readonly statusReason: string | null;
  readonly timeoutMinutes: number;
  readonly idempotencyKey: string | null;
  /** Copied at its creation, in millionths of a dollar. */
  readonly priceMicroUsdPerHour: number;
  /** The machine that serves it, once it is ready. */
  readonly machineId: string | null;
  /** Unique within the account: it is the cursor of the list. */
  readonly createdAtMs: number;
  readonly readyAtMs: number | null;
  readonly expiresAtMs: number | null;
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
  /** The earliest `createdAtMs`; it is moved later when the account already has that one or a later one. */
  readonly createdAtMs: number;
}

/** What a finished run costs; written to the ledger once per sandbox. */
export interface Charge {
  readonly amountMicroUsd: number;
  readonly runtimeMs: number;
  readonly atMs: number;
}

/** What a lifecycle decision writes; what is left out stays. */
export interface SandboxChange {
  readonly status: SandboxStatus;
  readonly statusReason?: string | null;
  readonly timeoutMinutes?: number;
  readonly machineId?: string;
  readonly readyAtMs?: number;
  readonly expiresAtMs?: number;
  readonly deletedAtMs?: number;
  /** Gives the key of the create free for another one. */
  readonly idempotencyKey?: null;
  readonly charge?: Charge;
}

/** What a decision was made from; the change is written only while this still holds. */
export type SandboxGuard = Pick<SandboxRecord, 'id' | 'status' | 'expiresAtMs'>;

/** What a create is admitted by, read while no other create of the account can come in between. */
export interface AdmissionFacts extends AccountFunds {
  /** The account's sandboxes that are provisioning or running. */
  readonly openSandboxes: number;
}

export type InsertOutcome<Refusal> =
  | { readonly kind: 'inserted'; readonly sandbox: SandboxRecord }
  /** The account has used this idempotency key; this is what it made. */
  | { readonly kind: 'replayed'; readonly sandbox: SandboxRecord }
  /** Nothing was kept. */
  | { readonly kind: 'refused'; readonly refusal: Refusal };

export interface ListPage {
  readonly limit: number;
  /** Only what was created before. */
  readonly beforeMs?: number | undefined;
  readonly includeDeleted: boolean;
}

export interface SandboxStore {
  /**
   * Keeps it as `provisioning`, unless its idempotency key was used before or `admit` refuses. All creates of one account happen one
   * after another here, so what `admit` sees still holds when the sandbox is kept.
   */
  insert<Refusal>(
    sandbox: NewSandbox,
    admit: (facts: AdmissionFacts) => Refusal | undefined,
  ): Promise<InsertOutcome<Refusal>>;
  find(accountId: string, id: string): Promise<SandboxRecord | undefined>;
  /** Newest first. */
  list(accountId: string, page: ListPage): Promise<readonly SandboxRecord[]>;
  /**
   * Writes the change, and its charge to the ledger, if the guard still holds, and gives what is kept then; undefined if it does not
   * hold. One that leaves `running` loses its previews with it.
   */
  change(guard: SandboxGuard, change: SandboxChange): Promise<SandboxRecord | undefined>;
  /** As it is kept now, whoever owns it. */
  read(id: string): Promise<SandboxRecord | undefined>;
  withStatus(statuses: readonly SandboxStatus[]): Promise<readonly SandboxRecord[]>;
  /** Those that are not over, of every account, by status and size; what there is none of is left out. */
  countByStatus(): Promise<readonly SandboxCount[]>;
  /** Running ones whose time is up. */
  expired(nowMs: number): Promise<readonly SandboxRecord[]>;
}
