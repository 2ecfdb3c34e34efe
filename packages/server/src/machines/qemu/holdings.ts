import type { StepName, StepRunner } from './steps.ts';

interface Held {
  readonly name: StepName;
  readonly release: () => Promise<void> | void;
}

/**
 * What was taken of the host, to be given back in the reverse order. What could not be given back stays held with all that was taken
 * before it, so that nothing loses the ground it stands on and the next release goes on from there.
 */
export class Holdings {
  readonly #step: StepRunner;
  readonly #held: Held[] = [];

  constructor(step: StepRunner) {
    this.#step = step;
  }

  /** Notes how something is given back. Giving it back twice, or when it was only half taken, must be no error. */
  hold(name: StepName, release: Held['release']): void {
    this.#held.push({ name, release });
  }

  /** Takes over all that another holds. */
  takeFrom(other: Holdings): void {
    this.#held.push(...other.#held.splice(0));
  }

  /** Gives everything back. Not to be called again before it has settled. */
  async release(): Promise<void> {
    for (let last = this.#held.at(-1); last; last = this.#held.at(-1)) {
      const { name, release } = last;
      await this.#step(name, async () => await release());
      this.#held.pop();
    }
  }
}
