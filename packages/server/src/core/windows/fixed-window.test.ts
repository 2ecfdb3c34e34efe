import { expect, test } from 'vitest';
import { FixedWindow } from './fixed-window.ts';

test('the last request within the limit passes, the next does not, the next window starts anew', () => {
  const window = new FixedWindow();
  expect(window.take('a', 2, 0)).toEqual({ limit: 2, remaining: 1, resetSeconds: 60, exceeded: false });
  expect(window.take('a', 2, 59_000)).toEqual({ limit: 2, remaining: 0, resetSeconds: 1, exceeded: false });
  expect(window.take('a', 2, 59_999)).toEqual({ limit: 2, remaining: 0, resetSeconds: 1, exceeded: true });
  expect(window.take('a', 2, 60_000)).toEqual({ limit: 2, remaining: 1, resetSeconds: 60, exceeded: false });
});

test('keys are counted apart', () => {
  const window = new FixedWindow();
  expect(window.take('a', 1, 0).exceeded).toBe(false);
  expect(window.take('b', 1, 0).exceeded).toBe(false);
  expect(window.take('a', 1, 0).exceeded).toBe(true);
});

test('a flood of keys does not grow without end and does not free a busy one', () => {
  const window = new FixedWindow();
  for (let key = 0; key < 100_000; key++) window.take(`source ${key}`, 1, 0);
  expect(window.take('one more', 1, 0).exceeded).toBe(false);
  expect(window.take('one more', 1, 0).exceeded).toBe(true);
});
