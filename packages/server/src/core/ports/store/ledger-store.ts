/** A sandbox that runs up cost now. */
export interface RunningSandbox {
  readonly readyAtMs: number;
  /** Nothing is charged past it. */
  readonly expiresAtMs: number;
  readonly priceMicroUsdPerHour: number;
}

/** What an account has: what the ledger sums up to, and what runs now and is not in the ledger yet. */
export interface AccountFunds {
  readonly settledMicroUsd: number;
  readonly running: readonly RunningSandbox[];
}

/** Credit before it is kept. */
export interface NewCredit {
  readonly id: string;
  readonly accountId: string;
  /** Negative to take credit back. */
  readonly amountMicroUsd: number;
  readonly createdAtMs: number;
  /** For people; empty if there is nothing to say. */
  readonly note: string;
}

/** What the ledger says of a span of time; what runs now comes on top. */
export interface LedgerSummary extends AccountFunds {
  readonly spentMicroUsd: number;
  readonly addedMicroUsd: number;
  /** Of the runs that ended in the span. */
  readonly runtimeMs: number;
  readonly sandboxesCreated: number;
}

/** An append-only list of what was added and what was spent. Nothing in it ever changes. */
export interface LedgerStore {
  addCredit(credit: NewCredit): Promise<void>;
  funds(accountId: string): Promise<AccountFunds>;
  /** Over everything at or after that time, read at one moment. */
  summary(accountId: string, sinceMs: number): Promise<LedgerSummary>;
}
