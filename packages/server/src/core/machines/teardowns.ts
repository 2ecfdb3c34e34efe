import type { SandboxRecord } from '../ports/store/sandbox-store.ts';

const firstRetryMs = 1_000;
const longestRetryMs = 60_000;

/** Teardowns that did not succeed, tried again with longer and longer pauses until they do. */
export class Teardowns implements Disposable {
  readonly #attempt: (sandbox: SandboxRecord) => Promise<unknown>;
  readonly #timers = new Map<string, NodeJS.Timeout>();
  readonly #pausesMs = new Map<string, number>();
  #stopped = false;

  /** `attempt` fails if the machine would not go. */
  constructor(attempt: (sandbox: SandboxRecord) => Promise<unknown>) {
    this.#attempt = attempt;
  }

  /** How many wait to be tried again. */
  get waiting(): number {
    return this.#timers.size;
  }

  /** Tries again after a pause; asking twice is asking once. */
  tryLater(sandbox: SandboxRecord): void {
    if (this.#stopped || this.#timers.has(sandbox.id)) return;
    const pauseMs = this.#pausesMs.get(sandbox.id) ?? firstRetryMs;
    this.#pausesMs.set(sandbox.id, Math.min(pauseMs * 2, longestRetryMs));
    const timer = setTimeout(() => void this.#tryNow(sandbox), pauseMs);
    timer.unref();
    this.#timers.set(sandbox.id, timer);
  }

  [Symbol.dispose](): void {
    this.#stopped = true;
    for (const timer of this.#timers.values()) clearTimeout(timer);
    this.#timers.clear();
  }

  async #tryNow(sandbox: SandboxRecord): Promise<void> {
    this.#timers.delete(sandbox.id);
    try {
      await this.#attempt(sandbox);
      this.#pausesMs.delete(sandbox.id);
    } catch {
      this.tryLater(sandbox);
    }
  }
}
