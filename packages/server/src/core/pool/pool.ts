import { setTimeout as wait } from 'node:timers/promises';
import { type SizeName, sizeNames } from '@mayfly/contract';
import type { LiveMachine } from '../machines/live-machine.ts';
import { HostUnavailable } from '../ports/machine-driver.ts';
import type { Metrics } from '../ports/metrics.ts';
import type { Log } from '../ports/runtime.ts';
import { Backoff, type BackoffOptions } from '../scheduling/backoff.ts';

const defaultRetryPauses = { firstMs: 1_000, longestMs: 60_000 };

/** How many machines of each size wait in the pool. */
export type PoolTargets = Readonly<Partial<Record<SizeName, number>>>;

export interface PoolOptions {
  readonly targets: PoolTargets;
  /** Makes a machine that is launched, warmed up and paused. */
  readonly make: (size: SizeName, signal: AbortSignal) => Promise<LiveMachine>;
  /** Destroys a machine that was not claimed. Never rejects. */
  readonly destroy: (machine: LiveMachine) => Promise<void>;
  /** Throws if the host cannot take one more machine besides this many of the pool; HostUnavailable if nobody can launch it at the moment. */
  readonly requireRoom: (pooledMachines: number, size: SizeName) => void;
  readonly log: Log;
  readonly metrics: Pick<Metrics, 'poolClaimed' | 'machineDied'>;
  readonly retryPauses?: BackoffOptions;
}

/** Machines that are ready in advance. A create claims one, and the pool refills itself in the background. */
export class Pool implements AsyncDisposable {
  readonly #options: PoolOptions;
  readonly #ready = new Map<SizeName, LiveMachine[]>();
  readonly #making = new Map<SizeName, number>();
  readonly #work = new Set<Promise<void>>();
  readonly #closing = new AbortController();
  #started = false;

  constructor(options: PoolOptions) {
    this.#options = options;
  }

  /** Starts to fill the pool. */
  start(): void {
    this.#started = true;
    for (const size of sizeNames) this.#refill(size);
  }

  /** Takes a ready machine out of the pool; undefined if there is none of this size. */
  claim(size: SizeName): LiveMachine | undefined {
    const machine = this.#ready.get(size)?.shift();
    if (this.target(size) > 0) this.#options.metrics.poolClaimed(size, machine === undefined ? 'miss' : 'hit');
    this.#refill(size);
    return machine;
  }

  /** How many machines are ready. */
  readyCount(size: SizeName): number {
    return this.#ready.get(size)?.length ?? 0;
  }

  /** How many machines should be ready. */
  target(size: SizeName): number {
    return this.#options.targets[size] ?? 0;
  }

  /** How many machines the pool has, including those that are being made. */
  get size(): number {
    return sizeNames.reduce((sum, size) => sum + this.#countOf(size), 0);
  }

  /** Destroys up to this many ready machines, largest first, to make room for sandboxes. */
  evict(count: number): void {
    for (const size of sizeNames.toReversed()) {
      for (const machine of this.#ready.get(size)?.splice(0, count) ?? []) {
        count -= 1;
        void this.#destroy(machine);
      }
    }
  }

  /** Destroys all ready machines, because the host runs out of memory. They are replaced once there is room. Returns how many there were. */
  async evictAll(): Promise<number> {
    const evicted = [...this.#ready.values()].flatMap((ready) => ready.splice(0));
    await Promise.all(evicted.map((machine) => this.#destroy(machine)));
    for (const { machine } of evicted) this.#refill(machine.size);
    return evicted.length;
  }

  /** Stops refilling and destroys the machines of the pool. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort(new Error('the service is stopping'));
    await Promise.allSettled(this.#work);
    const unclaimed = [...this.#ready.values()].flatMap((ready) => ready.splice(0));
    await Promise.all(unclaimed.map((machine) => this.#options.destroy(machine)));
  }

  #countOf(size: SizeName): number {
    return this.readyCount(size) + (this.#making.get(size) ?? 0);
  }

  #refill(size: SizeName): void {
    const isOpen = this.#started && !this.#closing.signal.aborted;
    while (isOpen && this.#countOf(size) < this.target(size)) {
      this.#making.set(size, (this.#making.get(size) ?? 0) + 1);
      const work = this.#addOne(size).finally(() => {
        this.#work.delete(work);
        this.#making.set(size, (this.#making.get(size) ?? 0) - 1);
        this.#refill(size);
      });
      this.#work.add(work);
    }
  }

  /** Adds one machine. Retries with backoff until it succeeds or the pool closes. Once an absent host process is back, the pause is short. */
  async #addOne(size: SizeName): Promise<void> {
    const { make, destroy, requireRoom, log, retryPauses = defaultRetryPauses } = this.#options;
    const { signal } = this.#closing;
    const backoff = new Backoff(retryPauses);
    let wasAway = false;
    while (!signal.aborted) {
      try {
        requireRoom(this.size - 1, size);
        const machine = await make(size, signal);
        if (signal.aborted) await destroy(machine);
        else this.#add(size, machine);
        return;
      } catch (err) {
        if (signal.aborted) return;
        const isAway = err instanceof HostUnavailable;
        if (isAway) backoff.reset();
        const retryMs = backoff.nextMs();
        log[isAway && wasAway ? 'debug' : 'warn']({ size, err, retry_ms: retryMs }, 'pool_refill_failed');
        wasAway = isAway;
        await wait(retryMs, undefined, { signal, ref: false }).catch(() => {});
      }
    }
  }

  #add(size: SizeName, machine: LiveMachine): void {
    const ready = this.#ready.get(size) ?? [];
    this.#ready.set(size, ready);
    ready.push(machine);
    void machine.machine.exited.then(() => {
      const index = ready.indexOf(machine);
      if (index < 0) return;
      ready.splice(index, 1);
      this.#options.log.warn({ size, machine_id: machine.id }, 'pooled_machine_died');
      this.#options.metrics.machineDied(size, 'pool');
      void this.#destroy(machine);
      this.#refill(size);
    });
  }

  #destroy(machine: LiveMachine): Promise<void> {
    const destroyed = this.#options.destroy(machine);
    this.#work.add(destroyed);
    void destroyed.finally(() => this.#work.delete(destroyed));
    return destroyed;
  }
}
