import type { Log } from '../../../core/ports/runtime.ts';
import { ReleaseStack } from '../release-stack.ts';
import type { StepRunner } from '../steps.ts';
import type { MachineNetwork, MachineNetworks, SlotLease } from './machine-networks.ts';

/** Leases slots. A slot belongs to one host process on the whole host. */
interface SlotLeases<L extends SlotLease> {
  acquire(): Promise<L>;
  release(lease: L): Promise<void>;
}

/** A leased slot with its network, ready for one machine. A network is never reused. */
export interface ReadyNetwork<L extends SlotLease> {
  readonly lease: L;
  readonly network: MachineNetwork;
  /** Releases the network and the lease. */
  readonly releases: ReleaseStack;
}

export interface NetworkPoolOptions<L extends SlotLease> {
  readonly networks: Pick<MachineNetworks, 'create'>;
  readonly leases: SlotLeases<L>;
  /** The number of networks kept ready. */
  readonly size: number;
  readonly log: Log;
  readonly step: StepRunner;
  /** Releases what nobody uses. Never rejects. */
  readonly discard: (releases: ReleaseStack) => Promise<void>;
}

/** Keeps a few networks ready in advance. Creates them one at a time, so that they do not slow a launch down. */
export class NetworkPool<L extends SlotLease = SlotLease> implements AsyncDisposable {
  readonly #options: NetworkPoolOptions<L>;
  readonly #ready: ReadyNetwork<L>[] = [];
  #filling: Promise<void> | undefined;
  #isClosed = false;

  constructor(options: NetworkPoolOptions<L>) {
    this.#options = options;
  }

  /** Creates the missing networks. Resolves when the pool is full or a creation failed; never rejects. */
  fill(): Promise<void> {
    this.#filling ??= this.#fill()
      .catch((err: unknown) => this.#options.log.error({ err }, 'network_pool_fill_failed'))
      .finally(() => {
        this.#filling = undefined;
      });
    return this.#filling;
  }

  async #fill(): Promise<void> {
    while (!this.#isClosed && this.#ready.length < this.#options.size) this.#ready.push(await this.#create());
  }

  async #create(): Promise<ReadyNetwork<L>> {
    const { networks, leases, step, discard } = this.#options;
    const releases = new ReleaseStack(step);
    try {
      const lease = await step('lease uid', async () => {
        const acquired = await leases.acquire();
        releases.push('release uid', () => leases.release(acquired));
        return acquired;
      });
      return { lease, network: await networks.create(lease, releases), releases };
    } catch (error) {
      await discard(releases);
      throw error;
    }
  }

  /** Takes a network for a new machine. Creates one now if the pool is empty. */
  async claim(): Promise<ReadyNetwork<L>> {
    const ready = this.#ready.shift() ?? (await this.#create());
    if (!this.#isClosed) void this.fill();
    return ready;
  }

  /** Stops filling and discards the networks that were not claimed. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    await this.#filling;
    for (const { releases } of this.#ready.splice(0)) await this.#options.discard(releases);
  }
}
