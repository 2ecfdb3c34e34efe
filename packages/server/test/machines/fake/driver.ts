import { setTimeout as delay } from 'node:timers/promises';
import type { DriverCapabilities, LaunchRequest, MachineDriver } from '../../../src/core/ports/machine-driver.ts';
import { FakeMachine } from './machine.ts';

/** What goes wrong, for tests; may be changed between launches. */
export interface FakeDriverOptions {
  /** Every launch rejects with this. */
  launchError?: Error | undefined;
  launchDelayMs?: number | undefined;
  /** Machines launch, but their agents never answer. */
  agentSilent?: boolean | undefined;
}

/** Makes machines in memory. */
export class FakeMachineDriver implements MachineDriver {
  readonly options: FakeDriverOptions;
  readonly #machines = new Map<string, FakeMachine>();
  readonly #launching = new Set<string>();

  constructor(options: FakeDriverOptions = {}) {
    this.options = options;
  }

  /** The machines that are alive, oldest first. */
  get machines(): readonly FakeMachine[] {
    return [...this.#machines.values()];
  }

  /** The ids of all that is alive or being made. */
  leftovers(): string[] {
    return [...this.#launching, ...this.#machines.keys()];
  }

  capabilities(): DriverCapabilities {
    return { engine: 'fake', acceleration: 'none', pause: true, snapshot: false, adopt: true, network: false };
  }

  /** All that is alive, as if an earlier run had left it. */
  async adopt(): Promise<readonly FakeMachine[]> {
    return this.machines;
  }

  async close(): Promise<void> {}

  async launch({ id, size, signal }: LaunchRequest): Promise<FakeMachine> {
    signal?.throwIfAborted();
    if (!/^[a-z0-9_-]{1,64}$/.test(id)) throw new Error(`"${id}" is no machine id`);
    if (this.#machines.has(id) || this.#launching.has(id)) throw new Error(`machine ${id} exists already`);
    this.#launching.add(id);
    try {
      await delay(this.options.launchDelayMs ?? 0, undefined, signal === undefined ? {} : { signal });
      if (this.options.launchError !== undefined) throw this.options.launchError;
      const machine = new FakeMachine(id, size, this.options.agentSilent ?? false);
      this.#machines.set(id, machine);
      void machine.exited.then(() => this.#machines.delete(id));
      return machine;
    } finally {
      this.#launching.delete(id);
    }
  }
}
