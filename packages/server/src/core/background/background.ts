/** Work that goes on when nobody waits for it any more. Shutdown waits for it. */
export class Background {
  readonly #work = new Set<Promise<unknown>>();

  /** Remembers the work until it settles and gives it back. */
  track<T>(work: Promise<T>): Promise<T> {
    const forget = (): void => {
      this.#work.delete(work);
    };
    this.#work.add(work);
    work.then(forget, forget);
    return work;
  }

  /** Settles once nothing is under way, including what was started meanwhile. */
  async idle(): Promise<void> {
    while (this.#work.size > 0) await Promise.allSettled(this.#work);
  }
}
