import { setTimeout as passes } from 'node:timers/promises';

/** Waits until an expectation holds; at the deadline it fails as the expectation last failed. */
export const eventually = async <Value>(
  expectation: () => Promise<Value>,
  deadlineMs: number,
  periodMs = 500,
): Promise<Value> => {
  const endMs = Date.now() + deadlineMs;
  for (;;) {
    try {
      return await expectation();
    } catch (error) {
      if (Date.now() > endMs) throw error;
      await passes(periodMs);
    }
  }
};
