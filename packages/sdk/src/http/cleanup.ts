import { pause } from './timer.ts';

/** How long a call that is aborted waits for what it started to be cleaned up. The cleanup goes on behind it. */
export const cleanupMs = 10_000;

/**
 * Waits for something that must be cleaned up if the caller no longer wants it. When the signal aborts, or the work fails, cleans up for at most ten
 * seconds and throws the reason.
 */
export async function orCleanUp<Result>(
  work: Promise<Result>,
  signal: AbortSignal | undefined,
  cleanUp: (error: unknown) => Promise<unknown>,
): Promise<Result> {
  try {
    return await untilAborted(work, signal);
  } catch (error) {
    const cleaned = cleanUp(error).catch(() => undefined);
    const done = new AbortController();
    const timeout = pause(cleanupMs, done.signal).catch(() => undefined);
    await Promise.race([cleaned.finally(() => done.abort()), timeout]);
    throw error;
  }
}

/** Waits for a promise, or throws the reason of the signal as soon as it aborts. */
function untilAborted<Result>(work: Promise<Result>, signal: AbortSignal | undefined): Promise<Result> {
  if (signal === undefined) return work;
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}
