import { setTimeout as pause } from 'node:timers/promises';

/** Looks again and again until it is so; false if it is not within the deadline. */
export const waitUntil = async (
  isSo: () => boolean | Promise<boolean>,
  deadlineMs: number,
  everyMs = 100,
): Promise<boolean> => {
  const untilMs = performance.now() + deadlineMs;
  for (;;) {
    if (await isSo()) return true;
    if (performance.now() > untilMs) return false;
    await pause(everyMs);
  }
};
