/** Tracks work that continues after its caller stopped waiting. Shutdown waits for it. */
export class BackgroundTasks {
  readonly #running = new Set<Promise<unknown>>();

  /** Tracks the work until it settles, and returns it. */
  track<T>(work: Promise<T>): Promise<T> {
    const forget = (): void => {
      this.#running.delete(work);
    };
    this.#running.add(work);
    work.then(forget, forget);
    return work;
  }

  /** Resolves once nothing is running, including work that was started meanwhile. */
  async idle(): Promise<void> {
    while (this.#running.size > 0) await Promise.allSettled(this.#running);
  }
}
