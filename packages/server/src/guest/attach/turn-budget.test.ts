import { expect, test } from 'vitest';
import { TurnBudget } from './turn-budget.ts';

test('the work of one turn is used up after its time, and the next turn starts from zero', async () => {
  let nowMs = 0;
  const turn = new TurnBudget(2, () => nowMs);
  const work = () => {
    nowMs += 0.8;
  };
  expect([turn.spend(work), turn.spend(work), turn.spend(work)]).toEqual([false, false, true]);
  await new Promise(setImmediate);
  expect(turn.spend(work)).toBe(false);
});

test('work that fails counts as well', () => {
  let nowMs = 0;
  const turn = new TurnBudget(2, () => nowMs);
  const fail = () => {
    nowMs += 3;
    throw new Error('no');
  };
  expect(() => turn.spend(fail)).toThrow('no');
  expect(turn.spend(() => {})).toBe(true);
});
