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

  /** A machine that is nobody's yet, with the connection to its agent. */
  live(machine: Machine): LiveMachine {
    return new LiveMachine(machine, this.#connector, this.#attachMs);
  }

  /** From now on this machine serves the sandbox. */
  assign(sandboxId: string, live: LiveMachine): void {
    this.#live.set(sandboxId, live);
  }

  add(sandboxId: string, machine: Machine): LiveMachine {
    const live = this.live(machine);
    this.assign(sandboxId, live);
    return live;
  }

  /** The machine of a sandbox; GuestUnreachable if there is none. */
  get(sandboxId: string): LiveMachine {
    const live = this.#live.get(sandboxId);
    if (live === undefined) throw new GuestUnreachable('the sandbox has no machine');
    return live;
  }

  /** The machine of a sandbox, dead or alive, unless it is gone altogether. */
  find(sandboxId: string): LiveMachine | undefined {
    return this.#live.get(sandboxId);
  }

  /** Whether the sandbox has a machine that is alive and not told to go. */
  serves(sandboxId: string): boolean {
    return this.#live.get(sandboxId)?.doomed === false;
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
}
