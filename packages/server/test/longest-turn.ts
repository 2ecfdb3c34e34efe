const periodMs = 5;
/** How long the calibration takes on the machine on which the limits were set (Neoverse N1, idle), in milliseconds. */
const referenceMs = 40;
/** Other work on the host distorts single measurements. One above the limit is repeated up to this many times before it counts. */
const maxTries = 4;

/**
 * Measures the longest time for which this process held its event loop: CPU time of its thread, so that neither other processes nor a slow disk
 * count. A turn can appear longer by up to the period of the timer.
 */
export class LongestTurn implements Disposable {
  #slowness = calibrate();
  #longestMs = 0;
  #lastMs = threadMs();
  readonly #timer: NodeJS.Timeout;

  constructor() {
    this.#timer = setInterval(() => {
      const nowMs = threadMs();
      this.#longestMs = Math.max(this.#longestMs, nowMs - this.#lastMs);
      this.#lastMs = nowMs;
    }, periodMs).unref();
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  /** The longest turn since the last call, in milliseconds of the reference machine: as long as it would take there. */
  take(): number {
    const before = this.#slowness;
    this.#slowness = calibrate();
    const longestMs = this.#longestMs / Math.max(before, this.#slowness);
    this.#longestMs = 0;
    this.#lastMs = threadMs();
    return longestMs;
  }
}

/** Does some work until no turn of the event loop is longer than the limit, a few times at most. Returns the longest turn of each time, in milliseconds. */
export async function untilShortTurns(limitMs: number, measureMs: () => Promise<number>): Promise<number[]> {
  const longest: number[] = [];
  do longest.push(await measureMs());
  while (longest.length < maxTries && Math.min(...longest) >= limitMs);
  return longest;
}

function threadMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

/** How many times as long as on the reference machine a fixed piece of work takes at this moment; at least 1. */
function calibrate(): number {
  const entries = Array.from({ length: 20_000 }, (_, at) => ({ name: `entry ${at}`, type: 'file', size: at }));
  JSON.parse(JSON.stringify(entries));
  const startedMs = threadMs();
  JSON.parse(JSON.stringify(entries));
  return Math.max(1, (threadMs() - startedMs) / referenceMs);
}
