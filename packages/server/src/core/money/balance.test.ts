import { expect, test } from 'vitest';
import { liveBalanceMicroUsd } from './balance.ts';
import { costMicroUsd } from './cost.ts';

test('an hour costs its price, a millisecond its share, rounded once', () => {
  expect(costMicroUsd(3_600_000, 50_000)).toBe(50_000);
  expect(costMicroUsd(36, 50_000)).toBe(1);
  expect(costMicroUsd(35, 50_000)).toBe(0);
  expect(costMicroUsd(86_400_000, 200_000)).toBe(4_800_000);
});

test('a clock that went backwards costs nothing', () => {
  expect(costMicroUsd(-5_000, 50_000)).toBe(0);
});

test('what runs now is taken off the balance, below zero if need be', () => {
  const running = [
    { readyAtMs: 0, expiresAtMs: 9e9, priceMicroUsdPerHour: 50_000 },
    { readyAtMs: 1_800_000, expiresAtMs: 9e9, priceMicroUsdPerHour: 200_000 },
  ];
  expect(liveBalanceMicroUsd({ settledMicroUsd: 100_000, running }, 3_600_000)).toBe(-50_000);
});
