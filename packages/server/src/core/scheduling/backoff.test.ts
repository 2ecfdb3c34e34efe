import { expect, it } from 'vitest';
import { Backoff } from './backoff.ts';

it('doubles the pause up to the longest and starts again after a success', () => {
  const backoff = new Backoff({ firstMs: 100, longestMs: 350 });
  expect([backoff.nextMs(), backoff.nextMs(), backoff.nextMs(), backoff.nextMs()]).toEqual([100, 200, 350, 350]);
  backoff.reset();
  expect(backoff.nextMs()).toBe(100);
});
