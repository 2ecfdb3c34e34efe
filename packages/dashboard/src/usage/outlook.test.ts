import { expect, test } from 'vitest';
import { burnPerHour, describeLasting, describeRunning } from './outlook.ts';

test('what is spent per hour is the sum of what runs and is stored', () => {
  const running = [
    { size: 'small', sandboxes: 2, usd_per_hour: 0.1 },
    { size: 'large', sandboxes: 1, usd_per_hour: 0.25 },
  ] as const;
  expect(burnPerHour({ running: [...running], storage_usd_per_hour: 0.5 })).toBeCloseTo(0.85);
  expect(describeRunning(running)).toBe('2 small, 1 large');
});

test.each([
  [10, 0, undefined],
  [0, 1, 'used up'],
  [-2, 0, 'used up'],
  [1, 4, '15 min'],
  [0.0001, 4, '1 min'],
  [1, 1, '1 hour'],
  [47.9, 1, '47 hours'],
  [48, 1, '2 days'],
  [1, 1e-6, 'over a year'],
])('%d dollars at %d per hour last %s', (balance, burn, text) => {
  expect(describeLasting(balance, burn)).toBe(text);
});
