import type { StepName, StepRunner } from '#server/machines/qemu/steps.ts';

/** One passage of a step: the same step may be passed more than once in one operation. */
export interface Passage {
  readonly name: StepName;
  /** 1 for the first passage since the recording or the arming began. */
  readonly nth: number;
}

/** Where something goes wrong: before the step begins, or when it has taken effect. */
export interface Fault extends Passage {
  readonly when: 'before' | 'after';
}

export const describeFault = ({ name, nth, when }: Fault): string => `${when} "${name}" (${nth})`;

/** Both faults of every passage. */
export const faultsOf = (passages: readonly Passage[]): Fault[] =>
  passages.flatMap((passage) => [
    { ...passage, when: 'before' as const },
    { ...passage, when: 'after' as const },
  ]);

/** Steps of which any number can be told to go wrong, once each. */
export class FaultySteps {
  #counts = new Map<StepName, number>();
  #passed: Passage[] = [];
  readonly #armed = new Map<string, () => void>();

  readonly step: StepRunner = async (name, work) => {
    const nth = (this.#counts.get(name) ?? 0) + 1;
    this.#counts.set(name, nth);
    this.#passed.push({ name, nth });
    this.#strike({ name, nth, when: 'before' });
    const result = await work();
    this.#strike({ name, nth, when: 'after' });
    return result;
  };

  #strike(fault: Fault): void {
    const key = describeFault(fault);
    const strike = this.#armed.get(key);
    this.#armed.delete(key);
    strike?.();
  }

  /** The passages of an operation that goes well. */
  async record(work: () => Promise<unknown>): Promise<Passage[]> {
    this.#restart();
    await work();
    return this.#passed;
  }

  /** From now on something happens at each of these faults, once: the step fails, unless told otherwise. */
  arm(faults: readonly Fault[], strike?: () => void): void {
    this.#restart();
    this.#armed.clear();
    for (const fault of faults) {
      const fail = () => {
        throw new Error(`injected ${describeFault(fault)}`);
      };
      this.#armed.set(describeFault(fault), strike ?? fail);
    }
  }

  /** The faults that have not happened. */
  get armed(): string[] {
    return [...this.#armed.keys()];
  }

  #restart(): void {
    this.#counts = new Map();
    this.#passed = [];
  }
}
