import { expect, test } from 'vitest';
import { retryDelayMs } from './connection.ts';

test('attempts to reach the service grow rarer, but never rarer than every half minute', () => {
  expect([0, 1, 2, 3, 4, 50].map(retryDelayMs)).toEqual([2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
});
