import type { SizeName } from '@mayfly/contract';
import { ApiError } from '../errors/api-error.ts';
import type { HostProbe } from '../ports/host.ts';
import type { Metrics } from '../ports/metrics.ts';
import { type HeadroomRules, lackFor } from './headroom.ts';

export interface CapacityOptions {
  /** How many machines there may be at once. */
  readonly maxMachines: number;
  readonly headroom: HeadroomRules;
  readonly host: HostProbe;
  /** The sandboxes that have a machine. */
  readonly existing: () => Iterable<string>;
  readonly metrics: Metrics;
}

/** Whether this host takes one more machine. Counts those admitted but not launched yet. */
export class Capacity {
  readonly #options: CapacityOptions;
  readonly #admitted = new Map<string, SizeName>();

  constructor(options: CapacityOptions) {
    this.#options = options;
  }

  /** Takes a place for a sandbox, or says why there is none. Asking again for the same one changes nothing. */
  admit(sandboxId: string, size: SizeName): ApiError | undefined {
    if (this.#admitted.has(sandboxId)) return undefined;
    if (this.#taken() >= this.#options.maxMachines) {
      this.#options.metrics.capacityRefused('ceiling');
      return new ApiError('capacity_unavailable', 'this service runs as many machines as it may; try again later');
    }
    const lack = this.#lackFor(size);
    if (lack !== undefined) {
      this.#options.metrics.capacityRefused(lack);
      return new ApiError(
        'capacity_unavailable',
        `the host has too little free ${lack} for another machine; try again later`,
      );
    }
    this.#admitted.set(sandboxId, size);
    return undefined;
  }

  /** Gives the place back; a machine that exists by now counts by itself. */
  settle(sandboxId: string): void {
    this.#admitted.delete(sandboxId);
  }

  /** Whether there is room for a machine that nobody asked for, besides so many of that kind. */
  hasRoomBeside(idleMachines: number, size: SizeName): boolean {
    return this.#taken() + idleMachines < this.#options.maxMachines && this.#lackFor(size) === undefined;
  }

  /** By how many the machines there are, with so many idle ones, go past the ceiling. */
  excess(idleMachines: number): number {
    return Math.max(this.#taken() + idleMachines - this.#options.maxMachines, 0);
  }

  #taken(): number {
    return new Set([...this.#options.existing(), ...this.#admitted.keys()]).size;
  }

  #lackFor(size: SizeName): 'memory' | 'disk' | undefined {
    const { host, headroom } = this.#options;
    return lackFor(size, [...this.#admitted.values()], host.figures(), headroom);
  }
}
