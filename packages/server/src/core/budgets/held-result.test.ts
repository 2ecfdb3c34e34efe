import { expect, test } from 'vitest';
import { NoRoom } from '../ports/guest-agent.ts';
import { HeldResult } from './held-result.ts';
import { SharedBudget } from './shared-budget.ts';

const limits = { perAccount: 1_000_000, total: 2_000_000, waitingPerAccount: 10 };

test('room grows with a result, shrinks to its real size, and is given back', () => {
  const budget = new SharedBudget(limits);
  using held = new HeldResult(budget, 'a');
  expect([held.tryReserve(100_000), held.tryReserve(400_000), held.tryReserve(200_000)]).toEqual([true, true, true]);
  expect(budget.held).toBe(400_000);
  held.shrinkTo(150_000);
  expect(budget.held).toBe(150_000);
  held[Symbol.dispose]();
  held[Symbol.dispose]();
  expect(budget.held).toBe(0);
});

test('a small result is not counted in the end', () => {
  const budget = new SharedBudget(limits);
  const held = new HeldResult(budget, 'a');
  held.tryReserve(300_000);
  held.shrinkTo(32_768);
  expect(budget.held).toBe(0);
});

test('a result larger than the ceiling of an account is collected when nothing else is held', () => {
  const budget = new SharedBudget(limits);
  using held = new HeldResult(budget, 'a');
  expect(held.tryReserve(50_000_000)).toBe(true);
  expect(budget.held).toBe(1_000_000);
});

test('of two results that grow until there is no room, one gives way, and both are collected', async () => {
  const budget = new SharedBudget(limits);
  const collect = async (held: HeldResult) => {
    let calls = 0;
    await held.collect(async () => {
      calls += 1;
      for (let bytes = 100_000; bytes <= 800_000; bytes += 100_000) {
        if (!held.tryReserve(bytes)) throw new NoRoom(800_000);
        await new Promise(setImmediate);
      }
    });
    held[Symbol.dispose]();
    return calls;
  };
  const calls = await Promise.all([new HeldResult(budget, 'a'), new HeldResult(budget, 'a')].map(collect));
  expect(Math.max(...calls)).toBe(2);
  expect([budget.held, budget.waiting]).toEqual([0, 0]);
});
