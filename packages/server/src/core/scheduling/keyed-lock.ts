import { withDeadline } from './deadline.ts';

/** Runs work on one thing at a time: work under the same key waits for what came before it. */
export class KeyedLock {
  readonly #last = new Map<string, Promise<void>>();

  /** With `waitMs`, work that waits longer never runs, and this throws DeadlineExceeded. */
  async run<T>(key: string, work: () => Promise<T>, { waitMs }: { readonly waitMs?: number } = {}): Promise<T> {
    const before = this.#last.get(key) ?? Promise.resolve();
    const { promise: done, resolve } = Promise.withResolvers<void>();
    this.#last.set(key, done);
    const leave = () => {
      if (this.#last.get(key) === done) this.#last.delete(key);
      resolve();
    };
    try {
      await (waitMs === undefined ? before : withDeadline('the wait for other work', waitMs, before));
    } catch (error) {
      // The next caller still waits for what came before.
      void before.then(leave);
      throw error;
    }
    try {
      return await work();
    } finally {
      leave();
    }
  }
}
