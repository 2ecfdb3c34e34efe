const firstRetryMs = 1_000;
const longestRetryMs = 60_000;

/** One try to take a machine away; fails if it would not go. */
type Attempt = () => Promise<unknown>;

/** Machines that would not go, tried again with longer and longer pauses until they do. */
export class Teardowns implements Disposable {
  readonly #beforeRetry: () => void;
  readonly #timers = new Map<string, NodeJS.Timeout>();
  readonly #pausesMs = new Map<string, number>();
  #stopped = false;

  constructor(beforeRetry: () => void) {
    this.#beforeRetry = beforeRetry;
  }

  /** How many wait to be tried again. */
  get waiting(): number {
    return this.#timers.size;
  }

  /** Tries again after a pause; asking twice under one id is asking once. */
  tryLater(id: string, attempt: Attempt): void {
    if (this.#stopped || this.#timers.has(id)) return;
    const pauseMs = this.#pausesMs.get(id) ?? firstRetryMs;
    this.#pausesMs.set(id, Math.min(pauseMs * 2, longestRetryMs));
    const timer = setTimeout(() => void this.#tryNow(id, attempt), pauseMs);
    timer.unref();
    this.#timers.set(id, timer);
  }

  /** Tries no more: what is left is the next service's to end. */
  [Symbol.dispose](): void {
    this.#stopped = true;
    for (const timer of this.#timers.values()) clearTimeout(timer);
    this.#timers.clear();
  }

  async #tryNow(id: string, attempt: Attempt): Promise<void> {
    this.#timers.delete(id);
    this.#beforeRetry();
    try {
      await attempt();
      this.#pausesMs.delete(id);
    } catch {
      this.tryLater(id, attempt);
    }
  }
}
