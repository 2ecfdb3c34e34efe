import { setTimeout as wait } from 'node:timers/promises';
import { type SizeName, sizeNames } from '@mayfly/contract';
import type { LiveMachine } from '../machines/live-machine.ts';
import type { Log } from '../ports/log.ts';
import type { Metrics } from '../ports/metrics.ts';

/** How long a refill that failed waits before it tries again; doubled up to the longest. */
const firstRetryMs = 1_000;
const longestRetryMs = 60_000;

export type PoolTargets = Readonly<Partial<Record<SizeName, number>>>;

export interface PoolOptions {
  readonly targets: PoolTargets;
  /** Makes a machine that is nobody's yet: restored, warmed, paused. */
  readonly make: (size: SizeName, signal: AbortSignal) => Promise<LiveMachine>;
  /** Ends a machine that nobody took, sooner or later; never fails. */
  readonly end: (machine: LiveMachine) => Promise<void>;
  /** Whether the host has room for one more besides so many idle machines. */
  readonly hasRoom: (idleMachines: number, size: SizeName) => boolean;
  readonly log: Log;
  readonly metrics: Metrics;
}

/** Machines that wait for a create, each given out once. Refills itself in the background. */
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

  /** From now on it fills itself. */
  start(): void {
    this.#started = true;
    for (const size of sizeNames) this.#refill(size);
  }

  /** A ready machine of the size, taken out for good; undefined if there is none. */
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

  /** How many machines it has, those that are being made included. */
  get size(): number {
    return sizeNames.reduce((sum, size) => sum + this.readyCount(size) + (this.#making.get(size) ?? 0), 0);
  }

  /** Gives up so many idle machines, for somebody's sandbox to take their place. */
  giveUp(count: number): void {
    for (const size of sizeNames.toReversed()) {
      for (const machine of this.#ready.get(size)?.splice(0, count) ?? []) {
        count -= 1;
        this.#end(machine);
      }
    }
  }

  /** Makes no more and ends those that wait. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort(new Error('the service is stopping'));
    await Promise.allSettled(this.#work);
    const waiting = [...this.#ready.values()].flatMap((ready) => ready.splice(0));
    await Promise.all(waiting.map((machine) => this.#options.end(machine)));
  }

  #refill(size: SizeName): void {
    const target = this.target(size);
    while (this.#isOpen() && this.readyCount(size) + (this.#making.get(size) ?? 0) < target) {
      this.#making.set(size, (this.#making.get(size) ?? 0) + 1);
      const work = this.#makeOne(size).finally(() => {
        this.#work.delete(work);
        this.#making.set(size, (this.#making.get(size) ?? 0) - 1);
        this.#refill(size);
      });
      this.#work.add(work);
    }
  }

  /** Adds one machine, trying until it succeeds or the pool closes. */
  async #makeOne(size: SizeName): Promise<void> {
    const { make, end, hasRoom, log } = this.#options;
    const { signal } = this.#closing;
    for (let retryMs = firstRetryMs; !signal.aborted; retryMs = Math.min(retryMs * 2, longestRetryMs)) {
      try {
        if (!hasRoom(this.size - 1, size)) throw new Error('the host has no room for it now');
        const machine = await make(size, signal);
        if (signal.aborted) await end(machine);
        else this.#keep(size, machine);
        return;
      } catch (err) {
        if (signal.aborted) return;
        log.warn({ size, err, retry_ms: retryMs }, 'pool_refill_failed');
        await wait(retryMs, undefined, { signal, ref: false }).catch(() => {});
      }
    }
  }

  #keep(size: SizeName, machine: LiveMachine): void {
    const ready = this.#ready.get(size) ?? [];
    this.#ready.set(size, ready);
    ready.push(machine);
    void machine.machine.exited.then(() => {
      const at = ready.indexOf(machine);
      if (at < 0) return;
      ready.splice(at, 1);
      this.#options.log.warn({ size, machine_id: machine.machine.id }, 'pooled_machine_died');
      this.#options.metrics.machineDied(size, 'pool');
      this.#end(machine);
      this.#refill(size);
    });
  }

  #end(machine: LiveMachine): void {
    const ended = this.#options.end(machine);
    this.#work.add(ended);
    void ended.finally(() => this.#work.delete(ended));
  }

  #isOpen(): boolean {
    return this.#started && !this.#closing.signal.aborted;
  }
}
