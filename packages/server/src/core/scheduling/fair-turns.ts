/**
 * Lets a few pieces of work run per turn of the event loop. Work beyond that waits for a later turn, in which everything else that is ready runs
 * first. Among those who wait, each key (an account) has its turn; within a key they go in order. While there is little to do, nobody waits.
 */
export class FairTurns {
  readonly #perTurn: number;
  /** Those who wait, by key. The key whose turn it is comes first. */
  readonly #waiting = new Map<string, (() => void)[]>();
  #started = 0;
  #isScheduled = false;

  constructor(perTurn: number) {
    this.#perTurn = perTurn;
  }

  /** Resolves when the work may run; undefined if it may run now. */
  next(key: string): Promise<void> | undefined {
    this.#schedule();
    if (this.#started < this.#perTurn && this.#waiting.size === 0) {
      this.#started += 1;
      return undefined;
    }
    const { promise, resolve } = Promise.withResolvers<void>();
    const line = this.#waiting.get(key);
    if (line === undefined) this.#waiting.set(key, [resolve]);
    else line.push(resolve);
    return promise;
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#started = 0;
      while (this.#started < this.#perTurn && this.#waiting.size > 0) this.#startNext();
      if (this.#waiting.size > 0) this.#schedule();
    });
  }

  #startNext(): void {
    for (const [key, line] of this.#waiting) {
      this.#waiting.delete(key);
      line.shift()?.();
      if (line.length > 0) this.#waiting.set(key, line);
      this.#started += 1;
      return;
    }
  }
}
