import type { Log } from '../../core/ports/log.ts';
import type { Holdings } from './holdings.ts';

/** How often what could not be cleared away is tried again, in milliseconds. */
const cleanupRetryMs = 5_000;

/** Clears away what machines hold that nobody has in hand, as of a launch that failed; tries again until it is gone. */
export class Debris {
  readonly #log: Log;
  readonly #left = new Set<Holdings>();
  readonly #timer: NodeJS.Timeout;
  #turn: Promise<void> = Promise.resolve();

  constructor(log: Log, retryMs = cleanupRetryMs) {
    this.#log = log;
    this.#timer = setInterval(() => void this.retry(), retryMs).unref();
  }

  /** Gives back what is held. Never rejects: what fails is tried again later. */
  async clear(holdings: Holdings): Promise<void> {
    try {
      await holdings.release();
    } catch (error) {
      this.#log.error({ error }, 'cleanup_failed');
      this.#left.add(holdings);
    }
  }

  /** Tries again now to clear away what is left. Never rejects. */
  retry(): Promise<void> {
    this.#turn = this.#turn.then(async () => {
      for (const holdings of [...this.#left]) {
        this.#left.delete(holdings);
        await this.clear(holdings);
      }
    });
    return this.#turn;
  }

  /** Tries one last time. The next service clears away what is left even then. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.retry();
  }
}
