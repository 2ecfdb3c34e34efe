const periodMs = 5;
/** How long the calibration takes on the machine on which the limits were set (Neoverse N1, idle), in milliseconds. */
const referenceMs = 40;

/**
 * Measures the longest time for which this process held its event loop: CPU time of its thread, so that neither other processes nor a slow disk
 * count. A turn can appear longer by up to the period of the timer.
 */
export class LongestTurn implements Disposable {
  /** How many times as long as on the reference machine a fixed piece of work takes; at least 1. */
  readonly slowness = Math.max(1, calibrate() / referenceMs);
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

  /** The longest turn since the last call, in milliseconds. */
  take(): number {
    const longestMs = this.#longestMs;
    this.#longestMs = 0;
    this.#lastMs = threadMs();
    return longestMs;
  }
}

function threadMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

function calibrate(): number {
  const entries = Array.from({ length: 20_000 }, (_, at) => ({ name: `entry ${at}`, type: 'file', size: at }));
  JSON.parse(JSON.stringify(entries));
  const startedMs = threadMs();
  JSON.parse(JSON.stringify(entries));
  return threadMs() - startedMs;
}
