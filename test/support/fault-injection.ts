import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { StepName, StepRunner } from '#server/machines/qemu/steps.ts';

/** One occurrence of a step: an operation may run the same step more than once. */
export interface StepOccurrence {
  readonly name: StepName;
  /** 1 for the first occurrence since recording or arming started. */
  readonly nth: number;
}

/** A point at which a fault is injected: before the step starts, or after it has taken effect. */
export interface Fault extends StepOccurrence {
  readonly when: 'before' | 'after';
}

export function describeFault({ name, nth, when }: Fault): string {
  return `${when} "${name}" (${nth})`;
}

/** Both faults of every occurrence. */
export function faultsOf(occurrences: readonly StepOccurrence[]): Fault[] {
  return occurrences.flatMap((occurrence) => [
    { ...occurrence, when: 'before' as const },
    { ...occurrence, when: 'after' as const },
  ]);
}

/** A third of the faults of `faultsOf`, in turn before and after their step. */
export function someFaultsOf(occurrences: readonly StepOccurrence[]): Fault[] {
  return faultsOf(occurrences).filter((_, index) => index % 3 === 0);
}

/** Runs the steps of the driver, and injects each armed fault once. */
export class FaultySteps {
  #counts = new Map<StepName, number>();
  #occurrences: StepOccurrence[] = [];
  readonly #armed = new Map<string, () => void>();

  readonly step: StepRunner = async (name, work) => {
    const nth = (this.#counts.get(name) ?? 0) + 1;
    this.#counts.set(name, nth);
    this.#occurrences.push({ name, nth });
    this.#inject({ name, nth, when: 'before' });
    const result = await work();
    this.#inject({ name, nth, when: 'after' });
    return result;
  };

  #inject(fault: Fault): void {
    const key = describeFault(fault);
    const trigger = this.#armed.get(key);
    this.#armed.delete(key);
    trigger?.();
  }

  /** Runs an operation without faults and returns the steps it ran. */
  async record(work: () => Promise<unknown>): Promise<StepOccurrence[]> {
    this.#restart();
    await work();
    return this.#occurrences;
  }

  /** Triggers each of these faults once from now on. By default the step throws. */
  arm(faults: readonly Fault[], trigger?: () => void): void {
    this.#restart();
    this.#armed.clear();
    for (const fault of faults) {
      const fail = () => {
        throw new Error(`injected ${describeFault(fault)}`);
      };
      this.#armed.set(describeFault(fault), trigger ?? fail);
    }
  }

  /** The faults that were not triggered yet. */
  get armed(): string[] {
    return [...this.#armed.keys()];
  }

  #restart(): void {
    this.#counts = new Map();
    this.#occurrences = [];
  }
}

/** Runs some work while a program of the host is replaced, in PATH, by one that fails. */
export async function withBrokenProgram(program: string, work: () => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'mayfly-broken-'));
  const { PATH } = process.env;
  try {
    await writeFile(join(folder, program), '#!/bin/sh\nexit 1\n', { mode: 0o755 });
    process.env.PATH = `${folder}:${PATH}`;
    await work();
  } finally {
    process.env.PATH = PATH;
    await rm(folder, { recursive: true, force: true });
  }
}
