import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { BudgetExceeded, SharedBudget } from './shared-budget.ts';

const longMs = 60_000;

/** Starts to wait and tells whether the amount was granted. What is never granted gives up long after the test. */
function waitFor(budget: SharedBudget, account: string, amount: number) {
  const state = { granted: false };
  const granted = () => {
    state.granted = true;
  };
  budget.take(account, amount, longMs).then(granted, () => {});
  return state;
}

/** Lets promises that are settled run their reactions. */
const settled = () => new Promise(setImmediate);

describe('a shared budget', () => {
  test('an account waits at its own ceiling while others are served', async () => {
    const budget = new SharedBudget({ perAccount: 2, total: 10, waitingPerAccount: 5 });
    expect([budget.tryTake('a', 1), budget.tryTake('a', 1), budget.tryTake('a', 1)]).toEqual([true, true, false]);
    const waiting = waitFor(budget, 'a', 1);
    await budget.take('b', 2, longMs);
    expect([budget.heldBy('a'), budget.heldBy('b'), budget.waiting, waiting.granted]).toEqual([2, 2, 1, false]);
    budget.give('a', 1);
    await settled();
    expect([waiting.granted, budget.waiting, budget.held]).toEqual([true, 0, 4]);
  });

  test('at the total ceiling the account that holds least comes first', async () => {
    const budget = new SharedBudget({ perAccount: 8, total: 10, waitingPerAccount: 5 });
    budget.tryTake('greedy', 8);
    budget.tryTake('other', 2);
    const again = waitFor(budget, 'other', 1);
    const innocent = waitFor(budget, 'innocent', 1);
    budget.give('greedy', 1);
    await settled();
    expect([again.granted, innocent.granted]).toEqual([false, true]);
  });

  test('a large amount is not passed over for ever', async () => {
    const budget = new SharedBudget({ perAccount: 8, total: 10, waitingPerAccount: 5 });
    budget.tryTake('a', 8);
    const large = waitFor(budget, 'b', 8);
    expect(budget.tryTake('c', 1)).toBe(false);
    budget.give('a', 8);
    await settled();
    expect([large.granted, budget.tryTake('c', 1)]).toEqual([true, true]);
  });

  test('a wait ends at its deadline, and a line that is full is refused at once', async () => {
    const budget = new SharedBudget({ perAccount: 1, total: 1, waitingPerAccount: 1 });
    budget.tryTake('a', 1);
    const late = budget.take('a', 1, 100);
    await expect(budget.take('a', 1, longMs)).rejects.toBeInstanceOf(BudgetExceeded);
    await expect(late).rejects.toBeInstanceOf(BudgetExceeded);
    expect(budget.waiting).toBe(0);
    budget.give('a', 1);
    expect(budget.held).toBe(0);
  });

  test('the ceilings always hold, and everybody is served in the end', async () => {
    const take = fc.record({ account: fc.constantFrom('a', 'b', 'c'), amount: fc.integer({ min: 1, max: 5 }) });
    await fc.assert(
      fc.asyncProperty(fc.array(take, { maxLength: 40 }), fc.infiniteStream(fc.nat()), async (takes, random) => {
        const budget = new SharedBudget({ perAccount: 5, total: 8, waitingPerAccount: 100 });
        const held: typeof takes = [];
        let served = 0;
        for (const one of takes) {
          void budget.take(one.account, one.amount, longMs).then(() => {
            served += 1;
            held.push(one);
          });
        }
        await settled();
        while (held.length > 0) {
          expect(budget.held).toBeLessThanOrEqual(8);
          for (const account of ['a', 'b', 'c']) expect(budget.heldBy(account)).toBeLessThanOrEqual(5);
          const [one] = held.splice((random.next().value ?? 0) % held.length, 1);
          if (one !== undefined) budget.give(one.account, one.amount);
          await settled();
        }
        expect([served, budget.held, budget.waiting]).toEqual([takes.length, 0, 0]);
      }),
    );
  });
});
