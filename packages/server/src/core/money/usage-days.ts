import type { AccountRecord } from '../ports/store/account-store.ts';
import type { DayItem, LedgerDay, LedgerDays, SizedSandbox, StoredBytes } from '../ports/store/ledger-store.ts';
import { type BalanceNeeds, costMicroUsd, liveBalanceMicroUsd, runtimeMs } from './balance.ts';
import { type CostOfDay, dayOf, splitByDay } from './days.ts';
import { storageCostMicroUsd } from './storage.ts';

const hourMs = 3_600_000;

/** Sandboxes that run now, of one size. */
interface RunningSize {
  readonly size: SizedSandbox['size'];
  readonly sandboxes: number;
  /** All of them, each at the price that it was created at. */
  readonly microUsdPerHour: number;
}

/** An account's usage by day, and what it spends now. Amounts are millionths of a dollar. */
export interface UsageByDay {
  readonly nowMs: number;
  readonly firstDay: number;
  readonly lastDay: number;
  readonly balanceMicroUsd: number;
  readonly running: readonly RunningSize[];
  readonly storageMicroUsdPerHour: number;
  /** By day, then item. Without days and items on which nothing happened. */
  readonly days: readonly LedgerDay[];
}

/** The usage of the last `days` UTC days, today included. Runs and storage are split at midnight, also those that go on. */
export async function getUsageByDay(core: BalanceNeeds, account: AccountRecord, days: number): Promise<UsageByDay> {
  const nowMs = core.clock.nowMs();
  const lastDay = dayOf(nowMs);
  const firstDay = lastDay - days + 1;
  const ledger = await core.store.ledger.days(account.id, firstDay);
  return {
    nowMs,
    firstDay,
    lastDay,
    balanceMicroUsd: liveBalanceMicroUsd(ledger, nowMs),
    running: runningBySize(ledger.running, nowMs),
    storageMicroUsdPerHour: ledger.stored.reduce((sum, snapshot) => sum + storagePerHour(snapshot), 0),
    days: withAccrued(ledger, nowMs).filter(({ day }) => day >= firstDay && day <= lastDay),
  };
}

/** The days of the ledger and what running sandboxes and stored snapshots cost until now. Pure. */
function withAccrued({ days, running, stored }: Omit<LedgerDays, 'settledMicroUsd'>, nowMs: number) {
  const sums = new Map<string, LedgerDay>();
  const add = (more: LedgerDay) => {
    const key = `${more.day} ${more.item}`;
    const sum = sums.get(key);
    sums.set(key, {
      day: more.day,
      item: more.item,
      amountMicroUsd: (sum?.amountMicroUsd ?? 0) + more.amountMicroUsd,
      runtimeMs: (sum?.runtimeMs ?? 0) + more.runtimeMs,
      sandboxes: (sum?.sandboxes ?? 0) + more.sandboxes,
    });
  };
  for (const day of days) add(day);
  for (const run of running) {
    const durationMs = runtimeMs(run, nowMs);
    const amountMicroUsd = costMicroUsd(durationMs, run.priceMicroUsdPerHour);
    const span = { fromMs: run.readyAtMs, untilMs: run.readyAtMs + durationMs, amountMicroUsd };
    for (const day of daysOfRun(run.size, splitByDay(span))) add(day);
  }
  for (const snapshot of stored) {
    const { bytes, chargedUntilMs, priceMicroUsdPerGbMonth } = snapshot;
    const amountMicroUsd = storageCostMicroUsd(bytes, nowMs - chargedUntilMs, priceMicroUsdPerGbMonth);
    const span = { fromMs: chargedUntilMs, untilMs: nowMs, amountMicroUsd };
    for (const day of daysOfStorage(splitByDay(span))) add(day);
  }
  return [...sums.values()].toSorted((one, other) => one.day - other.day || compare(one.item, other.item));
}

/** What a run adds to the days. The sandbox counts on the day it started. */
export function daysOfRun(item: DayItem, parts: readonly CostOfDay[]): readonly LedgerDay[] {
  return parts.map(({ day, amountMicroUsd, durationMs }, index) => ({
    day,
    item,
    amountMicroUsd,
    runtimeMs: durationMs,
    sandboxes: index === 0 ? 1 : 0,
  }));
}

/** What storing a snapshot adds to the days. */
export function daysOfStorage(parts: readonly CostOfDay[]): readonly LedgerDay[] {
  return parts.map(({ day, amountMicroUsd }) => ({ day, item: 'storage', amountMicroUsd, runtimeMs: 0, sandboxes: 0 }));
}

/** Sandboxes past their expiry, which the sweep has not ended yet, cost nothing any more. */
function runningBySize(running: readonly SizedSandbox[], nowMs: number): readonly RunningSize[] {
  const bySize = new Map<SizedSandbox['size'], RunningSize>();
  for (const { size, expiresAtMs, priceMicroUsdPerHour } of running) {
    if (expiresAtMs <= nowMs) continue;
    const sum = bySize.get(size);
    const microUsdPerHour = (sum?.microUsdPerHour ?? 0) + priceMicroUsdPerHour;
    bySize.set(size, { size, sandboxes: (sum?.sandboxes ?? 0) + 1, microUsdPerHour });
  }
  return [...bySize.values()].toSorted((one, other) => compare(one.size, other.size));
}

const itemOrder: readonly DayItem[] = ['small', 'medium', 'large', 'unknown', 'storage'];

function compare(one: DayItem, other: DayItem): number {
  return itemOrder.indexOf(one) - itemOrder.indexOf(other);
}

function storagePerHour({ bytes, priceMicroUsdPerGbMonth }: StoredBytes): number {
  return storageCostMicroUsd(bytes, hourMs, priceMicroUsdPerGbMonth);
}
