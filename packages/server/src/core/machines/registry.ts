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

  add(sandboxId: string, machine: Machine): LiveMachine {
    const live = new LiveMachine(machine, this.#connector, this.#attachMs);
    this.#live.set(sandboxId, live);
    return live;
  }

  /** The machine of a sandbox; GuestUnreachable if there is none. */
  get(sandboxId: string): LiveMachine {
    const live = this.#live.get(sandboxId);
    if (live === undefined) throw new GuestUnreachable('the sandbox has no machine');
    return live;
  }

  /** Ends the machine of a sandbox and forgets it once it is gone; at once if there is none. */
  async destroy(sandboxId: string): Promise<void> {
    const live = this.#live.get(sandboxId);
    if (live === undefined) return;
    await live.destroy();
    if (this.#live.get(sandboxId) === live) this.#live.delete(sandboxId);
  }

  /** Lets go of every machine without touching it: the next run adopts them. */
  leaveAll(): void {
    for (const live of this.#live.values()) live.leave();
    this.#live.clear();
  }

  /** The sandboxes that have a machine here. */
  ids(): Iterable<string> {
    return this.#live.keys();
  }

  /** The sandboxes whose machines are dead or told to go, but still here. */
  doomed(): readonly string[] {
    return [...this.#live].filter(([, live]) => live.doomed).map(([sandboxId]) => sandboxId);
  }
}
