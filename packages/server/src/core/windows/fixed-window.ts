/** How many keys are counted in one window at most; the oldest are forgotten beyond that. */
const maxKeys = 100_000;
const windowMs = 60_000;

/** Where a caller stands in a window after a request. */
export interface WindowUse {
  readonly limit: number;
  /** Requests left in this window. */
  readonly remaining: number;
  /** Whole seconds until the window ends; at least 1. */
  readonly resetSeconds: number;
  /** This request was one too many. */
  readonly exceeded: boolean;
}

/** Counts in fixed windows of 60 seconds that begin with the minute, for many keys. */
export class FixedWindow {
  readonly #counts = new Map<string, number>();
  #window = Number.NaN;

  /** Counts one request. */
  take(key: string, limit: number, nowMs: number): WindowUse {
    const window = Math.floor(nowMs / windowMs);
    if (window !== this.#window) {
      this.#counts.clear();
      this.#window = window;
    }
    const count = (this.#counts.get(key) ?? 0) + 1;
    if (count === 1 && this.#counts.size >= maxKeys) this.#forgetOldest();
    this.#counts.set(key, count);
    return {
      limit,
      remaining: Math.max(limit - count, 0),
      resetSeconds: Math.ceil(((window + 1) * windowMs - nowMs) / 1_000),
      exceeded: count > limit,
    };
  }

  #forgetOldest(): void {
    for (const oldest of this.#counts.keys()) {
      this.#counts.delete(oldest);
      return;
    }
  }
}
