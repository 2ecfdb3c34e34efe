import type { SizeName } from '@mayfly/contract';

/** A running sandbox, which accrues cost. */
export interface RunningSandbox {
  readonly readyAtMs: number;
  /** Time after it is not charged. */
  readonly expiresAtMs: number;
  readonly priceMicroUsdPerHour: number;
}

/** A stored snapshot that has a price and accrues cost. */
export interface StoredBytes {
  readonly bytes: number;
  /** The time until which the ledger has its cost. */
  readonly chargedUntilMs: number;
  /** Per GiB and 30 days. */
  readonly priceMicroUsdPerGbMonth: number;
}

/** What the balance is computed from: the sum of the ledger, and what is not in the ledger yet: running sandboxes and stored snapshots. */
export interface AccountFunds {
  readonly settledMicroUsd: number;
  readonly running: readonly RunningSandbox[];
  readonly stored: readonly StoredBytes[];
}

/** Credit to be stored. */
export interface NewCredit {
  readonly id: string;
  readonly accountId: string;
  /** Negative to withdraw credit. */
  readonly amountMicroUsd: number;
  readonly createdAtMs: number;
  /** For people; may be empty. */
  readonly note: string;
}

/** The ledger's totals over a period. What runs or is stored now, and is not in the ledger yet, is not included in the totals. */
export interface LedgerSummary extends AccountFunds {
  readonly spentMicroUsd: number;
  /** The part of `spentMicroUsd` that was charged for stored snapshots. */
  readonly storageMicroUsd: number;
  readonly addedMicroUsd: number;
  /** Of the runs that ended in the period. */
  readonly runtimeMs: number;
  readonly sandboxesCreated: number;
}

/** A running sandbox and its size. */
export interface SizedSandbox extends RunningSandbox {
  readonly size: SizeName;
}

/** What a day's usage is counted under: the size of the sandboxes, `unknown` for runs whose record was gone before days were summed up, or `storage` of snapshots. */
export type DayItem = SizeName | 'unknown' | 'storage';

/** What the account was charged for one item of one UTC day. */
export interface LedgerDay {
  /** UTC days since 1970. */
  readonly day: number;
  readonly item: DayItem;
  readonly amountMicroUsd: number;
  readonly runtimeMs: number;
  /** Sandboxes that started on this day. */
  readonly sandboxes: number;
}

/** The ledger's days, each with what was charged for it. What runs or is stored now, and is not in the ledger yet, is not included in the days. */
export interface LedgerDays extends AccountFunds {
  readonly running: readonly SizedSandbox[];
  readonly days: readonly LedgerDay[];
}

/** An append-only list of credits and charges. Entries are never changed or removed. */
export interface LedgerStore {
  addCredit(credit: NewCredit): Promise<void>;
  funds(accountId: string): Promise<AccountFunds>;
  /** Totals since a time, inclusive, from one consistent read. */
  summary(accountId: string, sinceMs: number): Promise<LedgerSummary>;
  /** The days since one, inclusive, from one consistent read. Charges are split at midnight UTC; those from before days were summed up are on the day they were written. */
  days(accountId: string, firstDay: number): Promise<LedgerDays>;
}
