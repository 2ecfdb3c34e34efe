import { ApiError } from '../errors/api-error.ts';
import type { Clock } from '../ports/runtime.ts';
import type { AccountRecord } from '../ports/store/account-store.ts';
import type { AccountFunds, LedgerStore, RunningSandbox } from '../ports/store/ledger-store.ts';
import { accruedStorageMicroUsd } from './storage.ts';

const hourMs = 3_600_000;

/** The cost of a run in millionths of a dollar, rounded once. */
export function costMicroUsd(runtimeMs: number, priceMicroUsdPerHour: number): number {
  return Math.round((Math.max(runtimeMs, 0) * priceMicroUsdPerHour) / hourMs);
}

/** The time a running sandbox would be charged for if it ended now. */
export function runtimeMs({ readyAtMs, expiresAtMs }: RunningSandbox, nowMs: number): number {
  return Math.max(Math.min(nowMs, expiresAtMs) - readyAtMs, 0);
}

/** The cost so far of the sandboxes that are running. */
export function accruedMicroUsd(running: readonly RunningSandbox[], nowMs: number): number {
  return running.reduce((sum, run) => sum + costMicroUsd(runtimeMs(run, nowMs), run.priceMicroUsdPerHour), 0);
}

/** The balance at this moment: the ledger's, minus the cost so far of running sandboxes and stored snapshots. */
export function liveBalanceMicroUsd(funds: AccountFunds, nowMs: number): number {
  return funds.settledMicroUsd - accruedMicroUsd(funds.running, nowMs) - accruedStorageMicroUsd(funds.stored, nowMs);
}

/** An amount as the API shows it. */
export function usdOf(microUsd: number): number {
  return microUsd / 1_000_000;
}

/** What the balance and the usage of an account need. */
export interface BalanceNeeds {
  readonly store: { readonly ledger: LedgerStore };
  readonly clock: Clock;
}

/** The account's current balance. */
export async function balanceMicroUsd(core: BalanceNeeds, account: AccountRecord): Promise<number> {
  return liveBalanceMicroUsd(await core.store.ledger.funds(account.id), core.clock.nowMs());
}

/** Throws 402 once the balance has reached zero. */
export async function requireCredit(core: BalanceNeeds, account: AccountRecord): Promise<void> {
  if ((await balanceMicroUsd(core, account)) > 0) return;
  throw new ApiError('insufficient_credits', 'The balance has reached zero. Add credit to run commands.');
}
