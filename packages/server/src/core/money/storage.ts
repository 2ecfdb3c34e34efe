import type { StoredBytes } from '../ports/store/ledger-store.ts';

const gibibyte = 1024 ** 3;
const monthMs = 30 * 86_400_000;

/** What it costs to store bytes for a time, in millionths of a dollar, rounded once. The price is per GiB and 30 days. */
export function storageCostMicroUsd(bytes: number, durationMs: number, priceMicroUsdPerGbMonth: number): number {
  return Math.round((bytes / gibibyte) * (Math.max(durationMs, 0) / monthMs) * priceMicroUsdPerGbMonth);
}

/** What stored snapshots cost from a time on, or from when they were last charged if that is later. */
export function accruedStorageMicroUsd(stored: readonly StoredBytes[], nowMs: number, sinceMs = 0): number {
  return stored.reduce((sum, { bytes, chargedUntilMs, priceMicroUsdPerGbMonth }) => {
    const durationMs = nowMs - Math.max(chargedUntilMs, sinceMs);
    return sum + storageCostMicroUsd(bytes, durationMs, priceMicroUsdPerGbMonth);
  }, 0);
}
