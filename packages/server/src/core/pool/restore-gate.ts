interface Waiting {
  readonly urgent: boolean;
  readonly enter: () => void;
}

/** Lets only so many restores happen at once. Somebody's create goes before the pool's own. */
export class RestoreGate {
  readonly #maxAtOnce: number;
  readonly #waiting: Waiting[] = [];
  #inside = 0;

  constructor(maxAtOnce: number) {
    this.#maxAtOnce = maxAtOnce;
  }

  /** How many restores happen now. */
  get inFlight(): number {
    return this.#inside;
  }

  /** How many wait for a place. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /** Does the work once there is room for it. A signal that fires while it waits takes it out of the queue. */
  async run<T>(urgent: boolean, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    await this.#enter(urgent, signal);
    try {
      return await work();
    } finally {
      this.#leave();
    }
  }

  #enter(urgent: boolean, signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted();
    if (this.#inside < this.#maxAtOnce) {
      this.#inside += 1;
      return Promise.resolve();
    }
    return new Promise((resolve, reject) => {
      const onAbort = () => {
        const at = this.#waiting.indexOf(waiting);
        if (at >= 0) this.#waiting.splice(at, 1);
        reject(signal?.reason as Error);
      };
      const waiting: Waiting = {
        urgent,
        enter: () => {
          signal?.removeEventListener('abort', onAbort);
          resolve();
        },
      };
      signal?.addEventListener('abort', onAbort, { once: true });
      this.#waiting.push(waiting);
    });
  }

  /** Hands the place on, so that nobody slips in between. */
  #leave(): void {
    const urgent = this.#waiting.findIndex((waiting) => waiting.urgent);
    const [next] = this.#waiting.splice(Math.max(urgent, 0), 1);
    if (next === undefined) this.#inside -= 1;
    else next.enter();
  }
}
