import { expect, test } from 'vitest';
import { costMicroUsd, liveBalanceMicroUsd } from './balance.ts';

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
  expect(liveBalanceMicroUsd({ settledMicroUsd: 100_000, running }, 3_600_000)).toBe(-50_000);
});
