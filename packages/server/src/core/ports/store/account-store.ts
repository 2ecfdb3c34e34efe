import type { AccountLimits } from '@mayfly/contract';

/** An account as it is kept. */
export interface AccountRecord {
  readonly id: string;
  readonly email: string;
  readonly suspended: boolean;
  /** What an operator set for this account alone; what is missing follows the service's limits. */
  readonly limits: Partial<AccountLimits>;
  readonly createdAtMs: number;
}

/** An account before it is kept, with the key that opens it. */
export interface NewAccount {
  readonly id: string;
  readonly email: string;
  /** What the account starts with, in millionths of a dollar; the first entry of its ledger unless zero. */
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

/** A key as it is kept and shown. */
export interface ApiKeyRecord {
  readonly id: string;
  readonly prefix: string;
  readonly createdAtMs: number;
  readonly revokedAtMs: number | null;
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
  /** Keeps the account and its key; false if the e-mail (letter case ignored) is taken. */
  create(account: NewAccount): Promise<boolean>;
  findByKeyHash(hash: string): Promise<KeyOwner | undefined>;
  /** Letter case ignored. */
  findByEmail(email: string): Promise<AccountRecord | undefined>;
  /** Oldest first. */
  list(): Promise<readonly AccountRecord[]>;
  setSuspended(id: string, suspended: boolean): Promise<void>;
  /** Sets these limits; null takes one back to the service's. */
  setLimits(id: string, limits: { readonly [Name in keyof AccountLimits]?: number | null }): Promise<void>;
  /** Keeps one more key unless the account has so many active ones, counted without a race; false then. */
  addKey(accountId: string, key: NewApiKey, createdAtMs: number, maxActive: number): Promise<boolean>;
  /** Oldest first, revoked ones included. */
  listKeys(accountId: string): Promise<readonly ApiKeyRecord[]>;
  /** Revokes a key of the account; false if there is no such active key. */
  revokeKey(accountId: string, keyId: string, revokedAtMs: number): Promise<boolean>;
}
