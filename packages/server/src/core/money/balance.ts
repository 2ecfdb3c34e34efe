import type { AccountFunds, RunningSandbox } from '../ports/store/ledger-store.ts';
import { costMicroUsd } from './cost.ts';

/** What the sandboxes that run now have cost until now. */
export function accruedMicroUsd(running: readonly RunningSandbox[], nowMs: number): number {
  return running.reduce((sum, run) => sum + costMicroUsd(runtimeMs(run, nowMs), run.priceMicroUsdPerHour), 0);
}

/** For how long a running sandbox would be charged if it ended now. */
export function runtimeMs({ readyAtMs, expiresAtMs }: RunningSandbox, nowMs: number): number {
  return Math.max(Math.min(nowMs, expiresAtMs) - readyAtMs, 0);
}

/** What is left of an account's credit at this moment, what runs now taken off. */
export function liveBalanceMicroUsd(funds: AccountFunds, nowMs: number): number {
  return funds.settledMicroUsd - accruedMicroUsd(funds.running, nowMs);
}
