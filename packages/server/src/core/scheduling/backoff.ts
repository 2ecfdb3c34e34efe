/** The shortest and the longest pause of a backoff. */
export interface BackoffOptions {
  readonly firstMs: number;
  readonly longestMs: number;
}

/** Pauses between retries: each is twice the one before, up to the longest. */
export class Backoff {
  readonly #options: BackoffOptions;
  #nextMs: number;

  constructor(options: BackoffOptions) {
    this.#options = options;
    this.#nextMs = options.firstMs;
  }

  /** How long to wait before the next attempt. */
  nextMs(): number {
    const pauseMs = this.#nextMs;
    this.#nextMs = Math.min(pauseMs * 2, this.#options.longestMs);
    return pauseMs;
  }

  /** Starts again with the shortest pause, after an attempt that succeeded. */
  reset(): void {
    this.#nextMs = this.#options.firstMs;
  }
}
