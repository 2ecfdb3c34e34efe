import { type GuestConnector, GuestUnreachable } from '../ports/guest-agent.ts';
import type { Machine } from '../ports/machine-driver.ts';
import { LiveMachine } from './live-machine.ts';

/** The machines of this process, by the id of the sandbox they serve. */
export class MachineRegistry {
  readonly #connector: GuestConnector;
  readonly #attachMs: number;
  readonly #live = new Map<string, LiveMachine>();

  constructor(connector: GuestConnector, attachMs: number) {
    this.#connector = connector;
    this.#attachMs = attachMs;
  }

  /** Adds the connection to its agent to a machine that serves no sandbox yet. */
  wrap(machine: Machine): LiveMachine {
    return new LiveMachine(machine, this.#connector, this.#attachMs);
  }

  /** Registers the machine as the one that serves the sandbox. */
  assign(sandboxId: string, live: LiveMachine): void {
    this.#live.set(sandboxId, live);
  }

  /** Wraps a machine and assigns it. */
  add(sandboxId: string, machine: Machine): LiveMachine {
    const live = this.wrap(machine);
    this.assign(sandboxId, live);
    return live;
  }

  /** Lets `next` serve the sandbox instead of `current`. False, and nothing changes, if `current` does not serve it any more. */
  replace(sandboxId: string, current: LiveMachine, next: LiveMachine): boolean {
    if (this.#live.get(sandboxId) !== current) return false;
    this.#live.set(sandboxId, next);
    return true;
  }

  /** The machine of a sandbox. Throws GuestUnreachable if it has none. */
  get(sandboxId: string): LiveMachine {
    const live = this.#live.get(sandboxId);
    if (live === undefined) throw new GuestUnreachable('the sandbox has no machine');
    return live;
  }

  /** The machine of a sandbox, whether or not it is alive, until it is destroyed. */
  find(sandboxId: string): LiveMachine | undefined {
    return this.#live.get(sandboxId);
  }

  /** Whether the sandbox has a machine that can be used. */
  serves(sandboxId: string): boolean {
    return this.#live.get(sandboxId)?.isLost === false;
  }

  /** The sandboxes that have a machine. */
  sandboxIds(): Iterable<string> {
    return this.#live.keys();
  }

  /** Destroys the machine of a sandbox and removes it from the registry. Does nothing if there is none. */
  async destroy(sandboxId: string): Promise<void> {
    const live = this.#live.get(sandboxId);
    if (live === undefined) return;
    await live.destroy();
    if (this.#live.get(sandboxId) === live) this.#live.delete(sandboxId);
  }

  /** Lets go of all machines. They keep running, and the next run of the service adopts them. */
  detachAll(): void {
    for (const live of this.#live.values()) live.detach();
    this.#live.clear();
  }
}
