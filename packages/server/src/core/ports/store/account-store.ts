import type { AccountLimits } from '@mayfly/contract';

/** An account as it is stored. */
export interface AccountRecord {
  readonly id: string;
  readonly email: string;
  readonly suspended: boolean;
  /** Limits that an operator set for this account; the service's limits apply where one is missing. */
  readonly limits: Partial<AccountLimits>;
  readonly createdAtMs: number;
}

/** An account to be stored, usually with its first key. */
export interface NewAccount {
  readonly id: string;
  readonly email: string;
  /** Millionths of a dollar; the first entry of the account's ledger unless zero. */
  readonly openingCreditMicroUsd: number;
  readonly createdAtMs: number;
  /** Null for an account that makes its keys in the dashboard. */
  readonly key: NewApiKey | null;
}

export interface NewApiKey {
  readonly id: string;
  /** SHA-256 of the key, lower-case hex. The key itself is never stored. */
  readonly hash: string;
  /** The first characters of the key, to recognise it. */
  readonly prefix: string;
  /** What people call it; absent if nobody named it. */
  readonly name?: string | undefined;
}

/** A key as it is stored and displayed. */
export interface ApiKeyRecord {
  readonly id: string;
  readonly prefix: string;
  readonly name: string | null;
  readonly createdAtMs: number;
  /** Up to a minute behind; null if it was never used. */
  readonly lastUsedAtMs: number | null;
  readonly revokedAtMs: number | null;
}

/** A key and the account it belongs to. */
export interface KeyOwner {
  readonly account: AccountRecord;
  readonly keyId: string;
  readonly revokedAtMs: number | null;
}

/** How much of its limits an account uses. */
export interface AccountUse {
  /** Sandboxes that are provisioning or running. */
  readonly openSandboxes: number;
  /** Those in progress included. */
  readonly snapshots: number;
  readonly snapshotBytes: number;
  readonly activeKeys: number;
  /** Output of finished commands. */
  readonly storedOutputBytes: number;
}

export interface AccountStore {
  /** Stores the account and its key, if any, if there is no account yet; false otherwise. */
  createFirst(account: NewAccount): Promise<boolean>;
  /** Stores the account and its key, if any; false if the e-mail address (ignoring case) is taken. */
  create(account: NewAccount): Promise<boolean>;
  findByKeyHash(hash: string): Promise<KeyOwner | undefined>;
  /** Ignores case. */
  findByEmail(email: string): Promise<AccountRecord | undefined>;
  /** Oldest first. */
  list(): Promise<readonly AccountRecord[]>;
  setSuspended(id: string, suspended: boolean): Promise<void>;
  /** Sets these limits; null resets one to the service's. */
  setLimits(id: string, limits: { readonly [Name in keyof AccountLimits]?: number | null }): Promise<void>;
  /** Stores another key; false if the account already has `maxActive` active keys. Safe against concurrent calls. */
  addKey(accountId: string, key: NewApiKey, createdAtMs: number, maxActive: number): Promise<boolean>;
  /** Oldest first, including revoked keys. */
  listKeys(accountId: string): Promise<readonly ApiKeyRecord[]>;
  /** Revokes a key of the account; false if it has no such active key. */
  revokeKey(accountId: string, keyId: string, revokedAtMs: number): Promise<boolean>;
  /** Records that keys were used. */
  noteKeyUses(keyIds: readonly string[], usedAtMs: number): Promise<void>;
  use(accountId: string): Promise<AccountUse>;
}
