import { expect, test } from 'vitest';
import { costMicroUsd, liveBalanceMicroUsd } from './balance.ts';
import { accruedStorageMicroUsd, storageCostMicroUsd } from './storage.ts';

const gibibyte = 1024 ** 3;
const dayMs = 86_400_000;

test('an hour costs its price, and a part of it its share, rounded once', () => {
  expect(costMicroUsd(3_600_000, 50_000)).toBe(50_000);
  expect(costMicroUsd(36, 50_000)).toBe(1);
  expect(costMicroUsd(35, 50_000)).toBe(0);
  expect(costMicroUsd(86_400_000, 200_000)).toBe(4_800_000);
});

test('a clock that was set back costs nothing', () => {
  expect(costMicroUsd(-5_000, 50_000)).toBe(0);
});

test('the cost of running sandboxes is subtracted from the balance, also below zero', () => {
  const running = [
    { readyAtMs: 0, expiresAtMs: 9e9, priceMicroUsdPerHour: 50_000 },
    { readyAtMs: 1_800_000, expiresAtMs: 9e9, priceMicroUsdPerHour: 200_000 },
  ];
  expect(liveBalanceMicroUsd({ settledMicroUsd: 100_000, running, stored: [] }, 3_600_000)).toBe(-50_000);
});

test('a gibibyte that is stored for 30 days costs the price, and a part of it its share, rounded once', () => {
  expect(storageCostMicroUsd(gibibyte, 30 * dayMs, 20_000)).toBe(20_000);
  expect(storageCostMicroUsd(gibibyte / 2, 3 * dayMs, 20_000)).toBe(1_000);
  expect(storageCostMicroUsd(4_096, 60_000, 20_000)).toBe(0);
  expect(storageCostMicroUsd(gibibyte, -1, 20_000)).toBe(0);
});

test('the cost of stored snapshots is subtracted from the balance, and counts in a period from its beginning', () => {
  const stored = [
    { bytes: gibibyte, chargedUntilMs: 0, priceMicroUsdPerGbMonth: 30_000 },
    { bytes: 2 * gibibyte, chargedUntilMs: 5 * dayMs, priceMicroUsdPerGbMonth: 30_000 },
  ];
  expect(liveBalanceMicroUsd({ settledMicroUsd: 10_000, running: [], stored }, 6 * dayMs)).toBe(2_000);
  expect(accruedStorageMicroUsd(stored, 6 * dayMs, 4 * dayMs)).toBe(4_000);
});
