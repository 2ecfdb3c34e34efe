import { expect, test } from 'vitest';
import { fullnessOf, windowAfter } from './windows.ts';

const read = { limit: 120, remaining: 30, resets_in_seconds: 12 };

test('a window counts down and is unused after its reset', () => {
  expect([0, 900, 1_000, 11_500, 12_000, 90_000, -5_000].map((ms) => windowAfter(read, ms))).toEqual([
    { used: 90, limit: 120, resetsInSeconds: 12 },
    { used: 90, limit: 120, resetsInSeconds: 12 },
    { used: 90, limit: 120, resetsInSeconds: 11 },
    { used: 90, limit: 120, resetsInSeconds: 1 },
    { used: 0, limit: 120, resetsInSeconds: undefined },
    { used: 0, limit: 120, resetsInSeconds: undefined },
    { used: 90, limit: 120, resetsInSeconds: 12 },
  ]);
});

test('four fifths are near the limit, and a limit of zero is full', () => {
  const fullness = [0, 15, 16, 19, 20, 21].map((used) => fullnessOf(used, 20));
  expect(fullness).toEqual(['free', 'free', 'near', 'near', 'full', 'full']);
  expect(fullnessOf(0, 0)).toBe('full');
});
