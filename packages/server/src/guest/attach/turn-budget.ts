/**
 * The time that the answers of one guest may be parsed in one turn of the event loop. A guest that sends many tiny frames then waits for the
 * next turn, in which everybody else comes first.
 */
export class TurnBudget {
  readonly #turnMs: number;
  readonly #nowMs: () => number;
  #spentMs = 0;
  #isResetScheduled = false;

  constructor(turnMs: number, nowMs: () => number = () => performance.now()) {
    this.#turnMs = turnMs;
    this.#nowMs = nowMs;
  }

  /** Does some work and adds its time. Returns whether the budget of this turn is used up. */
  spend(work: () => void): boolean {
    const startedMs = this.#nowMs();
    try {
      work();
    } finally {
      this.#spentMs += this.#nowMs() - startedMs;
    }
    if (!this.#isResetScheduled) {
      this.#isResetScheduled = true;
      setImmediate(() => {
        this.#isResetScheduled = false;
        this.#spentMs = 0;
      });
    }
    return this.#spentMs >= this.#turnMs;
  }
}
