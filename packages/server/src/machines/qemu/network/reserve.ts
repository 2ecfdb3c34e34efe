import type { Log } from '../../../core/ports/log.ts';
import { Holdings } from '../holdings.ts';
import type { StepRunner } from '../steps.ts';
import type { MachineNetwork, NetworkPool, SlotLease } from './machine-network.ts';

/** Where slots come from; a slot is one service's alone on the whole host. */
export interface SlotLeases<L extends SlotLease> {
  take(): Promise<L>;
  give(lease: L): Promise<void>;
}

/** A slot with its network, ready for a machine. A used network is never used again. */
export interface ReadyNetwork<L extends SlotLease> {
  readonly lease: L;
  readonly network: MachineNetwork;
  /** Gives both back. */
  readonly holdings: Holdings;
}

export interface ReserveOptions<L extends SlotLease> {
  readonly pool: NetworkPool;
  readonly leases: SlotLeases<L>;
  /** How many are kept ready. */
  readonly size: number;
  readonly log: Log;
  readonly step: StepRunner;
  /** Clears away what nobody uses; never rejects. */
  readonly discard: (holdings: Holdings) => Promise<void>;
}

/** Keeps a few networks made ahead of need, and makes them one at a time so that a launch is not held up. */
export class NetworkReserve<L extends SlotLease = SlotLease> {
  readonly #options: ReserveOptions<L>;
  readonly #ready: ReadyNetwork<L>[] = [];
  #filling: Promise<void> | undefined;
  #isClosed = false;

  constructor(options: ReserveOptions<L>) {
    this.#options = options;
  }

  /** Makes what is missing. Settles when the reserve is full; never rejects. */
  fill(): Promise<void> {
    this.#filling ??= this.#fill()
      .catch((error: unknown) => this.#options.log.error({ error }, 'network_reserve_failed'))
      .finally(() => {
        this.#filling = undefined;
      });
    return this.#filling;
  }

  async #fill(): Promise<void> {
    while (!this.#isClosed && this.#ready.length < this.#options.size) this.#ready.push(await this.#make());
  }

  async #make(): Promise<ReadyNetwork<L>> {
    const { pool, leases, step, discard } = this.#options;
    const holdings = new Holdings(step);
    try {
      const lease = await step('lease uid', async () => {
        const taken = await leases.take();
        holdings.hold('give uid back', () => leases.give(taken));
        return taken;
      });
      return { lease, network: await pool.acquire(lease, holdings), holdings };
    } catch (error) {
      await discard(holdings);
      throw error;
    }
  }

  /** A network for a new machine: from the reserve, or made now when it is empty. */
  async take(): Promise<ReadyNetwork<L>> {
    const ready = this.#ready.shift() ?? (await this.#make());
    if (!this.#isClosed) void this.fill();
    return ready;
  }

  /** Removes what was made ahead. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#filling;
    for (const { holdings } of this.#ready.splice(0)) await this.#options.discard(holdings);
  }
}
