/** The longest time that setTimeout waits. It takes longer ones for 1 ms. */
export const longestTimerMs = 2 ** 31 - 1;

/** Like setTimeout, but a time that is too long for it, or infinite, is the longest it can wait. */
export function startTimer(callback: () => void, ms: number): ReturnType<typeof setTimeout> {
  return setTimeout(callback, Math.min(ms, longestTimerMs));
}

/** Waits, or throws the reason of the signal. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const abort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = startTimer(() => {
      signal?.removeEventListener('abort', abort);
      resolve();
    }, ms);
    signal?.addEventListener('abort', abort, { once: true });
  });
}
