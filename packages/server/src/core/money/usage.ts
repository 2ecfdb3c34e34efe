import type { AccountRecord } from '../ports/store/account-store.ts';
import type { BalanceNeeds } from './balance.ts';
import { accruedMicroUsd, liveBalanceMicroUsd, runtimeMs } from './balance.ts';
import { accruedStorageMicroUsd } from './storage.ts';

const dayMs = 86_400_000;
const minuteMs = 60_000;

/** An account's usage over a number of days until now. Amounts are millionths of a dollar. */
export interface UsageSummary {
  readonly days: number;
  readonly balanceMicroUsd: number;
  readonly spentMicroUsd: number;
  /** The part of `spentMicroUsd` for stored snapshots. */
  readonly storageMicroUsd: number;
  readonly addedMicroUsd: number;
  readonly sandboxesCreated: number;
  readonly runtimeMinutes: number;
}

/**
 * The usage of the last `days` days. A run counts on the day it ends; a running sandbox counts with its cost so far. Storage counts on the day it is
 * charged, which is every day; what is not charged yet counts with its cost since the beginning of the period.
 */
export async function getUsage(core: BalanceNeeds, account: AccountRecord, days: number): Promise<UsageSummary> {
  const nowMs = core.clock.nowMs();
  const sinceMs = nowMs - days * dayMs;
  const ledger = await core.store.ledger.summary(account.id, sinceMs);
  const storedMicroUsd = accruedStorageMicroUsd(ledger.stored, nowMs, sinceMs);
  const runningMs = ledger.running.reduce((sum, run) => sum + runtimeMs(run, nowMs), 0);
  return {
    days,
    balanceMicroUsd: liveBalanceMicroUsd(ledger, nowMs),
    spentMicroUsd: ledger.spentMicroUsd + accruedMicroUsd(ledger.running, nowMs) + storedMicroUsd,
    storageMicroUsd: ledger.storageMicroUsd + storedMicroUsd,
    addedMicroUsd: ledger.addedMicroUsd,
    sandboxesCreated: ledger.sandboxesCreated,
    runtimeMinutes: Math.round((ledger.runtimeMs + runningMs) / minuteMs),
  };
}
