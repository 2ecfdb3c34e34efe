import type { Log } from '../../../core/ports/log.ts';
import type { MachineNetwork, NetworkPool, SlotLease } from './machine-network.ts';

/** Where slots come from; a slot is one service's alone on the whole host. */
export interface SlotLeases<L extends SlotLease> {
  take(): Promise<L>;
  give(lease: L): Promise<void>;
}

/** A slot with its network, ready for a machine. */
export interface ReadyNetwork<L extends SlotLease> {
  readonly lease: L;
  readonly network: MachineNetwork;
}

/** Keeps a few networks made ahead of need, and makes them one at a time so that a launch is not held up. */
export class NetworkReserve<L extends SlotLease = SlotLease> {
  readonly #pool: NetworkPool;
  readonly #leases: SlotLeases<L>;
  readonly #size: number;
  readonly #log: Log;
  readonly #ready: ReadyNetwork<L>[] = [];
  #filling: Promise<void> | undefined;
  #isClosed = false;

  constructor(pool: NetworkPool, leases: SlotLeases<L>, size: number, log: Log) {
    this.#pool = pool;
    this.#leases = leases;
    this.#size = size;
    this.#log = log;
  }

  /** Makes what is missing. Settles when the reserve is full; never rejects. */
  fill(): Promise<void> {
    this.#filling ??= this.#fill()
      .catch((error: unknown) => this.#log.error({ error }, 'network_reserve_failed'))
      .finally(() => {
        this.#filling = undefined;
      });
    return this.#filling;
  }

  async #fill(): Promise<void> {
    while (!this.#isClosed && this.#ready.length < this.#size) this.#ready.push(await this.#make());
  }

  async #make(): Promise<ReadyNetwork<L>> {
    const lease = await this.#leases.take();
    try {
      return { lease, network: await this.#pool.acquire(lease) };
    } catch (error) {
      await this.#leases.give(lease);
      throw error;
    }
  }

  /** A network for a new machine: from the reserve, or made now when it is empty. */
  async take(): Promise<ReadyNetwork<L>> {
    const ready = this.#ready.shift() ?? (await this.#make());
    if (!this.#isClosed) void this.fill();
    return ready;
  }

  /** Removes a network and gives its slot back. A used network is never used again. */
  async give({ lease, network }: ReadyNetwork<L>): Promise<void> {
    await network.release();
    await this.#leases.give(lease);
  }

  /** Removes what was made ahead. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#filling;
    for (const ready of this.#ready.splice(0)) await this.give(ready);
  }
}
