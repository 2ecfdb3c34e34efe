/**
 * Runs a few pieces of work at the same time. Among those that wait, each key (an account) has its turn; within a key they go in order. While there is
 * a free place, nobody waits.
 */
export class FairQueue {
  readonly #places: number;
  /** Those who wait, by key. The key whose turn it is comes first. */
  readonly #waiting = new Map<string, (() => void)[]>();
  #running = 0;

  constructor(places: number) {
    this.#places = places;
  }

  /** Runs the work once it has a place, which it keeps until it ends. If the signal aborts before that, the work never runs. */
  async run<T>(key: string, work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    signal.throwIfAborted();
    if (this.#running < this.#places) this.#running += 1;
    else await this.#placeFor(key, signal);
    try {
      signal.throwIfAborted();
      return await work();
    } finally {
      this.#leave();
    }
  }

  /** Resolves when somebody who leaves hands over the place. */
  async #placeFor(key: string, signal: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const line = this.#waiting.get(key);
    if (line === undefined) this.#waiting.set(key, [resolve]);
    else line.push(resolve);
    const abort = () => {
      if (this.#remove(key, resolve)) reject(signal.reason as Error);
    };
    signal.addEventListener('abort', abort, { once: true });
    await promise.finally(() => signal.removeEventListener('abort', abort));
  }

  /** False if it has been given a place already. */
  #remove(key: string, waiting: () => void): boolean {
    const line = this.#waiting.get(key) ?? [];
    const index = line.indexOf(waiting);
    if (index === -1) return false;
    line.splice(index, 1);
    if (line.length === 0) this.#waiting.delete(key);
    return true;
  }

  #leave(): void {
    for (const [key, line] of this.#waiting) {
      this.#waiting.delete(key);
      const next = line.shift();
      if (line.length > 0) this.#waiting.set(key, line);
      next?.();
      return;
    }
    this.#running -= 1;
  }
}
