import type { Core } from '../context.ts';
import type { AccountRecord } from '../ports/store/account-store.ts';
import { accruedMicroUsd, liveBalanceMicroUsd, runtimeMs } from './balance.ts';

const dayMs = 86_400_000;
const minuteMs = 60_000;

/** An account's usage over a number of days until now. Amounts are millionths of a dollar. */
export interface UsageSummary {
  readonly days: number;
  readonly balanceMicroUsd: number;
  readonly spentMicroUsd: number;
  readonly addedMicroUsd: number;
  readonly sandboxesCreated: number;
  readonly runtimeMinutes: number;
}

/** The usage of the last `days` days. A run counts on the day it ends; a running sandbox counts with its cost so far. */
export async function getUsage(core: Core, account: AccountRecord, days: number): Promise<UsageSummary> {
  const nowMs = core.clock.nowMs();
  const ledger = await core.store.ledger.summary(account.id, nowMs - days * dayMs);
  const runningMs = ledger.running.reduce((sum, run) => sum + runtimeMs(run, nowMs), 0);
  return {
    days,
    balanceMicroUsd: liveBalanceMicroUsd(ledger, nowMs),
    spentMicroUsd: ledger.spentMicroUsd + accruedMicroUsd(ledger.running, nowMs),
    addedMicroUsd: ledger.addedMicroUsd,
    sandboxesCreated: ledger.sandboxesCreated,
    runtimeMinutes: Math.round((ledger.runtimeMs + runningMs) / minuteMs),
  };
}
