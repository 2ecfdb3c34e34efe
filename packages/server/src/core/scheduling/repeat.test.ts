import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { repeat } from './repeat.ts';

const log = { debug() {}, info() {}, warn() {}, error() {} };
beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** The times, in milliseconds, at which work that takes `durationMs` starts within five periods. */
async function startsOf(durationMs: number): Promise<number[]> {
  const beganAtMs = performance.now();
  const starts: number[] = [];
  const work = async () => {
    starts.push(performance.now() - beganAtMs);
    await new Promise((resolve) => setTimeout(resolve, durationMs));
  };
  const repeated = repeat('test', 60_000, work, log);
  await vi.advanceTimersByTimeAsync(299_000);
  const disposed = repeated[Symbol.asyncDispose]();
  await vi.runAllTimersAsync();
  await disposed;
  return starts;
}

test('work starts once per period, however long it takes within it', async () => {
  expect(await startsOf(20_000)).toEqual([0, 60_000, 120_000, 180_000, 240_000]);
});

test('work that takes longer than the period is not started twice at once and keeps to the minutes', async () => {
  expect(await startsOf(70_000)).toEqual([0, 120_000, 240_000]);
});
