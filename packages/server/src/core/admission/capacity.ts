import { ApiError } from '../errors/api-error.ts';

/** How many machines there may be on this host at once. Counts those admitted but not launched yet. */
export class Capacity {
  readonly #maxMachines: number;
  readonly #existing: () => Iterable<string>;
  readonly #admitted = new Set<string>();

  /** `existing` names the sandboxes that have a machine. */
  constructor(maxMachines: number, existing: () => Iterable<string>) {
    this.#maxMachines = maxMachines;
    this.#existing = existing;
  }

  /** Takes a place for a sandbox, or says why there is none. Asking again for the same one changes nothing. */
  admit(sandboxId: string): ApiError | undefined {
    if (this.#admitted.has(sandboxId)) return undefined;
    const taken = new Set([...this.#existing(), ...this.#admitted]);
    if (taken.size >= this.#maxMachines) {
      return new ApiError('capacity_unavailable', 'this service runs as many machines as it may; try again later');
    }
    this.#admitted.add(sandboxId);
    return undefined;
  }

  /** Gives the place back; a machine that exists by now counts by itself. */
  settle(sandboxId: string): void {
    this.#admitted.delete(sandboxId);
  }
}
