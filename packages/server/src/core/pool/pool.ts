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

/** A template whose copies wait in the pool: a snapshot of an account, by its alias. */
export interface PooledTemplate {
  /** The account's e-mail address. */
  readonly email: string;
  readonly alias: string;
  readonly count: number;
}

/** What a machine is restored from: the template of its size, or a snapshot. */
export interface MachineSource {
  readonly size: SizeName;
  readonly snapshotId?: string | undefined;
}

export interface PoolOptions {
  readonly targets: PoolTargets;
  readonly templates?: readonly PooledTemplate[];
  /** The snapshot that an alias stands for at the moment; undefined if there is none. */
  readonly findTemplate?: (template: PooledTemplate) => Promise<MachineSource | undefined>;
  /** Makes a machine that is launched, warmed up and paused. */
  readonly make: (source: MachineSource, signal: AbortSignal) => Promise<LiveMachine>;
  /** Destroys a machine that was not claimed. Never rejects. */
  readonly destroy: (machine: LiveMachine) => Promise<void>;
  /** Throws if the host cannot take one more machine besides this many of the pool; HostUnavailable if nobody can launch it at the moment. */
  readonly requireRoom: (pooledMachines: number, size: SizeName) => void;
  readonly log: Log;
  readonly metrics: Pick<Metrics, 'poolClaimed' | 'machineDied'>;
  readonly retryPauses?: BackoffOptions;
}

/** The machines of one size or of one template. */
interface Shelf {
  readonly target: number;
  readonly template?: PooledTemplate;
  /** What its machines are made from; undefined while the alias of its template names no snapshot. All ready machines are made from it. */
  source: MachineSource | undefined;
  readonly ready: LiveMachine[];
  making: number;
}

/** Machines that are ready in advance. A create claims one, and the pool refills itself in the background. */
export class Pool implements AsyncDisposable {
  readonly #options: PoolOptions;
  readonly #shelves: readonly Shelf[];
  readonly #work = new Set<Promise<void>>();
  readonly #closing = new AbortController();
  #started = false;

  constructor(options: PoolOptions) {
    this.#options = options;
    const { targets, templates = [] } = options;
    this.#shelves = [
      ...sizeNames.map((size) => ({ target: targets[size] ?? 0, source: { size }, ready: [], making: 0 })),
      ...templates.map((template) => ({
        target: template.count,
        template,
        source: undefined,
        ready: [],
        making: 0,
      })),
    ];
  }

  /** Starts to fill the pool. Copies of templates follow once `refreshTemplates` has found their snapshots. */
  start(): void {
    this.#started = true;
    for (const shelf of this.#shelves) this.#refill(shelf);
  }

  /** Whether copies of templates belong in the pool. */
  get hasTemplates(): boolean {
    return this.#shelves.some(({ template }) => template !== undefined);
  }

  /** Looks up the snapshots of all templates. Machines of a snapshot that was deleted, or that lost its alias, are replaced. */
  async refreshTemplates(): Promise<void> {
    const { findTemplate, log } = this.#options;
    for (const shelf of this.#shelves) {
      if (shelf.template === undefined) continue;
      const source = await findTemplate?.(shelf.template);
      if (isSameSource(shelf.source, source)) continue;
      shelf.source = source;
      for (const machine of shelf.ready.splice(0)) void this.#destroy(machine);
      log.info({ template: shelf.template.alias, snapshot_id: source?.snapshotId ?? null }, 'pool_template_changed');
      this.#refill(shelf);
    }
  }

  /** Takes a ready machine that was made from this source out of the pool; undefined if there is none. */
  claim(source: MachineSource): LiveMachine | undefined {
    const shelves = this.#shelves.filter((one) => one.target > 0 && isSameSource(one.source, source));
    const shelf = shelves.find(({ ready }) => ready.length > 0) ?? shelves[0];
    if (shelf === undefined) return undefined;
    const machine = shelf.ready.shift();
    this.#options.metrics.poolClaimed(source.size, machine === undefined ? 'miss' : 'hit');
    this.#refill(shelf);
    return machine;
  }

  /** How many machines of this size are ready, copies of templates included. */
  readyCount(size: SizeName): number {
    return this.#shelvesOf(size).reduce((sum, { ready }) => sum + ready.length, 0);
  }

  /** How many machines of this size should be ready, copies of templates included. */
  target(size: SizeName): number {
    return this.#shelvesOf(size).reduce((sum, shelf) => sum + shelf.target, 0);
  }

  /** How many machines the pool has, including those that are being made. */
  get size(): number {
    return this.#shelves.reduce((sum, shelf) => sum + countOf(shelf), 0);
  }

  /** Destroys up to this many ready machines, largest first, to make room for sandboxes. */
  evict(count: number): void {
    for (const shelf of sizeNames.toReversed().flatMap((size) => this.#shelvesOf(size))) {
      for (const machine of shelf.ready.splice(0, count)) {
        count -= 1;
        void this.#destroy(machine);
      }
    }
  }

  /** Destroys all ready machines, because the host runs out of memory. They are replaced once there is room. Returns how many there were. */
  async evictAll(): Promise<number> {
    const evicted = this.#shelves.flatMap(({ ready }) => ready.splice(0));
    await Promise.all(evicted.map((machine) => this.#destroy(machine)));
    for (const shelf of this.#shelves) this.#refill(shelf);
    return evicted.length;
  }

  /** Stops refilling and destroys the machines of the pool. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort(new Error('the service is stopping'));
    await Promise.allSettled(this.#work);
    const unclaimed = this.#shelves.flatMap(({ ready }) => ready.splice(0));
    await Promise.all(unclaimed.map((machine) => this.#options.destroy(machine)));
  }

  #shelvesOf(size: SizeName): readonly Shelf[] {
    return this.#shelves.filter(({ source }) => source?.size === size);
  }

  #refill(shelf: Shelf): void {
    const isOpen = this.#started && !this.#closing.signal.aborted;
    while (isOpen && shelf.source !== undefined && countOf(shelf) < shelf.target) {
      shelf.making += 1;
      const work = this.#addOne(shelf).finally(() => {
        this.#work.delete(work);
        shelf.making -= 1;
        this.#refill(shelf);
      });
      this.#work.add(work);
    }
  }

  /**
   * Adds one machine. Retries with backoff until it succeeds, the pool closes, or there is nothing left to make it from. Once an absent host
   * process is back, the pause is short.
   */
  async #addOne(shelf: Shelf): Promise<void> {
    const { make, destroy, requireRoom, log, retryPauses = defaultRetryPauses } = this.#options;
    const { signal } = this.#closing;
    const backoff = new Backoff(retryPauses);
    let wasAway = false;
    while (!signal.aborted && shelf.source !== undefined) {
      const { source } = shelf;
      try {
        requireRoom(this.size - 1, source.size);
        const machine = await make(source, signal);
        if (signal.aborted || !isSameSource(shelf.source, source)) await destroy(machine);
        else this.#add(shelf, source.size, machine);
        return;
      } catch (err) {
        if (signal.aborted) return;
        const isAway = err instanceof HostUnavailable;
        if (isAway) backoff.reset();
        const retryMs = backoff.nextMs();
        const fields = { size: source.size, snapshot_id: source.snapshotId, err, retry_ms: retryMs };
        log[isAway && wasAway ? 'debug' : 'warn'](fields, 'pool_refill_failed');
        wasAway = isAway;
        await wait(retryMs, undefined, { signal, ref: false }).catch(() => {});
      }
    }
  }

  #add(shelf: Shelf, size: SizeName, machine: LiveMachine): void {
    const { ready } = shelf;
    ready.push(machine);
    void machine.machine.exited.then(() => {
      const index = ready.indexOf(machine);
      if (index < 0) return;
      ready.splice(index, 1);
      this.#options.log.warn({ size, machine_id: machine.id }, 'pooled_machine_died');
      this.#options.metrics.machineDied(size, 'pool');
      void this.#destroy(machine);
      this.#refill(shelf);
    });
  }

  #destroy(machine: LiveMachine): Promise<void> {
    const destroyed = this.#options.destroy(machine);
    this.#work.add(destroyed);
    void destroyed.finally(() => this.#work.delete(destroyed));
    return destroyed;
  }
}

function countOf({ ready, making }: Shelf): number {
  return ready.length + making;
}

function isSameSource(one: MachineSource | undefined, other: MachineSource | undefined): boolean {
  return one?.size === other?.size && one?.snapshotId === other?.snapshotId;
}
