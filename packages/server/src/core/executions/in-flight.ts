/** The executions that this process runs or recovers. */
export class ExecutionsInFlight {
  readonly #work = new Map<string, Promise<unknown>>();

  get count(): number {
    return this.#work.size;
  }

  has(id: string): boolean {
    return this.#work.has(id);
  }

  /** Tracks an execution until the work settles, and returns the work. */
  track<T>(id: string, work: Promise<T>): Promise<T> {
    const tracked = work.finally(() => this.#work.delete(id));
    this.#work.set(id, tracked);
    return tracked;
  }

  /** Resolves when the execution is not in flight any more: its end is stored, or this process has given up on it. */
  async ended(id: string): Promise<void> {
    await this.#work.get(id)?.catch(() => {});
  }
}
