import { describe, expect, test } from 'vitest';
import { admit } from './admit.ts';

const rules = { concurrentSandboxes: 20, priceMicroUsdPerHour: 50_000, smallPriceMicroUsdPerHour: 50_000 };
const minimum = 4_167;
const facts = { suspended: false, settledMicroUsd: minimum, running: [], stored: [], openSandboxes: 0 };

test('an account that was suspended after its request was authenticated', () => {
  expect(admit({ ...facts, suspended: true, settledMicroUsd: 0 }, rules, 0)?.type).toBe('account_suspended');
});

describe('credit', () => {
  test('five minutes of a small sandbox are enough, one millionth of a dollar less is not', () => {
    expect(admit(facts, rules, 0)).toBeUndefined();
    expect(admit({ ...facts, settledMicroUsd: minimum - 1 }, rules, 0)?.type).toBe('insufficient_credits');
  });

  test('running sandboxes count', () => {
    const running = [{ readyAtMs: 0, expiresAtMs: 9e9, priceMicroUsdPerHour: 50_000 }];
    expect(admit({ ...facts, running }, rules, 60_000)?.type).toBe('insufficient_credits');
  });

  test('a size without a price needs no credit, whatever the others cost', () => {
    const free = { ...rules, priceMicroUsdPerHour: 0 };
    for (const settledMicroUsd of [1, 0, -1_000_000]) {
      expect(admit({ ...facts, settledMicroUsd }, free, 0)).toBeUndefined();
      expect(admit({ ...facts, settledMicroUsd }, { ...free, smallPriceMicroUsdPerHour: 0 }, 0)).toBeUndefined();
    }
  });

  test('a size with a price needs a balance above zero even if small is free', () => {
    const smallIsFree = { ...rules, smallPriceMicroUsdPerHour: 0 };
    expect(admit({ ...facts, settledMicroUsd: 1 }, smallIsFree, 0)).toBeUndefined();
    expect(admit({ ...facts, settledMicroUsd: 0 }, smallIsFree, 0)?.type).toBe('insufficient_credits');
  });
});

describe('quota', () => {
  test('the last sandbox within the quota is admitted, the next is not', () => {
    expect(admit({ ...facts, openSandboxes: 19 }, rules, 0)).toBeUndefined();
    expect(admit({ ...facts, openSandboxes: 20 }, rules, 0)?.type).toBe('quota_exceeded');
  });

  test('credit is checked before quota', () => {
    expect(admit({ ...facts, settledMicroUsd: 0, openSandboxes: 20 }, rules, 0)?.type).toBe('insufficient_credits');
  });
});
