/** Whether repeated work has something to do: when it was marked, and after a period in any case. The first time it has. */
export class Due {
  readonly #periodMs: number;
  #isMarked = true;
  #lastMs = 0;

  constructor(periodMs: number) {
    this.#periodMs = periodMs;
  }

  /** The work has to be done the next time. */
  mark(): void {
    this.#isMarked = true;
  }

  /** Whether the work is to be done now. If it is, it counts as done. */
  take(nowMs: number): boolean {
    if (!this.#isMarked && nowMs < this.#lastMs + this.#periodMs) return false;
    this.#isMarked = false;
    this.#lastMs = nowMs;
    return true;
  }
}
