import type { ExecutionStatus, SandboxStatus, SizeName } from '@mayfly/contract';

/** An account as it is kept. */
export interface AccountRecord {
  readonly id: string;
  readonly email: string;
  readonly suspended: boolean;
  readonly createdAtMs: number;
}

/** An account before it is kept, with the key that opens it. */
export interface NewAccount {
  readonly id: string;
  readonly email: string;
  /** What the account starts with, in millionths of a dollar. */
  readonly openingCreditMicroUsd: number;
  readonly createdAtMs: number;
  readonly key: NewApiKey;
}

export interface NewApiKey {
  readonly id: string;
  /** SHA-256 of the key, lower-case hex. The key itself is never kept. */
  readonly hash: string;
  /** The first characters, so that people recognise it. */
  readonly prefix: string;
}

/** The key and the account behind it. */
export interface KeyOwner {
  readonly account: AccountRecord;
  readonly keyId: string;
  readonly revokedAtMs: number | null;
}

export interface AccountStore {
  /** Keeps the account and its key if there is no account at all; false if there is one. */
  createFirst(account: NewAccount): Promise<boolean>;
  findByKeyHash(hash: string): Promise<KeyOwner | undefined>;
}

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
  /** The earliest `createdAtMs`; it is moved later when the account already has that one or a later one. */
  readonly createdAtMs: number;
}

/** What a lifecycle decision writes; what is left out stays. */
export interface SandboxChange {
  readonly status: SandboxStatus;
  readonly statusReason?: string | null;
  readonly readyAtMs?: number;
  readonly expiresAtMs?: number;
  readonly deletedAtMs?: number;
  /** Gives the key of the create free for another one. */
  readonly idempotencyKey?: null;
}

export type InsertOutcome =
  | { readonly kind: 'inserted'; readonly sandbox: SandboxRecord }
  /** The account has used this idempotency key; this is what it made. */
  | { readonly kind: 'replayed'; readonly sandbox: SandboxRecord };

export interface ListPage {
  readonly limit: number;
  /** Only what was created before. */
  readonly beforeMs?: number | undefined;
  readonly includeDeleted: boolean;
}

export interface SandboxStore {
  /** Keeps it as `provisioning`, unless its idempotency key was used before. */
  insert(sandbox: NewSandbox): Promise<InsertOutcome>;
  find(accountId: string, id: string): Promise<SandboxRecord | undefined>;
  /** Newest first. */
  list(accountId: string, page: ListPage): Promise<readonly SandboxRecord[]>;
  /** Writes the change if the sandbox still has that status and gives what is kept then; undefined if it has not. */
  change(id: string, from: SandboxStatus, change: SandboxChange): Promise<SandboxRecord | undefined>;
  /** As it is kept now, whoever owns it. */
  read(id: string): Promise<SandboxRecord | undefined>;
  withStatus(statuses: readonly SandboxStatus[]): Promise<readonly SandboxRecord[]>;
  /** Running ones whose time is up. */
  expired(nowMs: number): Promise<readonly SandboxRecord[]>;
}

/** An execution as it is kept. Output is bytes, as the command wrote them. */
export interface ExecutionRecord {
  readonly id: string;
  readonly accountId: string;
  readonly sandboxId: string;
  readonly status: ExecutionStatus;
  readonly exitCode: number | null;
  readonly stdout: Uint8Array;
  readonly stderr: Uint8Array;
  readonly truncated: boolean;
  readonly durationMs: number | null;
  readonly startedAtMs: number;
  readonly finishedAtMs: number | null;
}

export type NewExecution = Pick<ExecutionRecord, 'id' | 'accountId' | 'sandboxId' | 'startedAtMs'>;

export type ExecutionEnd = Pick<
  ExecutionRecord,
  'status' | 'exitCode' | 'stdout' | 'stderr' | 'truncated' | 'durationMs' | 'finishedAtMs'
>;

export interface ExecutionStore {
  /** Keeps it as `running`. */
  insert(execution: NewExecution): Promise<void>;
  /** Writes how it ended, once: an execution that has ended stays as it is. */
  finish(id: string, end: ExecutionEnd): Promise<void>;
  find(accountId: string, id: string): Promise<ExecutionRecord | undefined>;
  /** Ends every `running` one as `failed`; gives how many. */
  failRunning(finishedAtMs: number): Promise<number>;
}

/** Everything that outlives the process. */
export interface Store {
  readonly accounts: AccountStore;
  readonly sandboxes: SandboxStore;
  readonly executions: ExecutionStore;
  close(): Promise<void>;
}
