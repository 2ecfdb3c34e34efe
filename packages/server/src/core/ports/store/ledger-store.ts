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

/** An append-only list of credits and charges. Entries are never changed or removed. */
export interface LedgerStore {
  addCredit(credit: NewCredit): Promise<void>;
  funds(accountId: string): Promise<AccountFunds>;
  /** Totals since a time, inclusive, from one consistent read. */
  summary(accountId: string, sinceMs: number): Promise<LedgerSummary>;
}
