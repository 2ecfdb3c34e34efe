import { expect, test } from 'vitest';
import { Due } from './due.ts';

test('work is due the first time, when it was marked, and after the period', () => {
  const due = new Due(100);
  expect([due.take(1_000), due.take(1_001), due.take(1_099)]).toEqual([true, false, false]);
  due.mark();
  expect([due.take(1_099), due.take(1_100), due.take(1_198), due.take(1_199)]).toEqual([true, false, false, true]);
});
