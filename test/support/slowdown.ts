/** A machine's command may take this many times as long beside a noisy neighbour as without one. */
export const maxSlowdownRatio = 3;

/** Other work on the host distorts single measurements. One above the limit is repeated up to this many times before it counts. */
const maxTries = 4;

/** How much slower a command is under load. */
export interface Slowdown {
  readonly baselineMs: number;
  readonly loadedMs: number;
  readonly ratio: number;
  /** How many medians were measured until one was within the limit. */
  readonly tries: number;
}

/** Compares the time of a command under load with its baseline. `measureMs` returns a median. */
export async function measureSlowdown(baselineMs: number, measureMs: () => Promise<number>): Promise<Slowdown> {
  let loadedMs = Number.POSITIVE_INFINITY;
  let tries = 0;
  while (tries < maxTries && loadedMs / baselineMs >= maxSlowdownRatio) {
    loadedMs = Math.min(loadedMs, await measureMs());
    tries += 1;
  }
  return compare(baselineMs, loadedMs, tries);
}

/** Once the load is over: if the ratio is above the limit, measures the baseline again and uses the slower of the two. */
export async function recheckSlowdown(found: Slowdown, measureMs: () => Promise<number>): Promise<Slowdown> {
  return found.ratio < maxSlowdownRatio
    ? found
    : compare(Math.max(found.baselineMs, await measureMs()), found.loadedMs, found.tries);
}

function compare(baselineMs: number, loadedMs: number, tries: number): Slowdown {
  return {
    tries,
    baselineMs: Math.round(baselineMs),
    loadedMs: Math.round(loadedMs),
    ratio: Number((loadedMs / baselineMs).toFixed(2)),
  };
}
