import { availableParallelism } from 'node:os';
import PQueue from 'p-queue';
import type { LaunchRequest, Machine, MachineDriver } from '../ports/machine-driver.ts';
import type { Metrics } from '../ports/metrics.ts';
import { withDeadline } from '../scheduling/deadline.ts';

/** A machine is launched for a create that a caller waits for, or to fill the pool. */
export type LaunchPurpose = 'create' | 'pool';

const priorities: Readonly<Record<LaunchPurpose, number>> = { create: 1, pool: 0 };

/** How many machines are launched at the same time on this host. */
export function launchConcurrency(): number {
  return Math.max(availableParallelism(), 2);
}

export interface LauncherOptions {
  readonly driver: Pick<MachineDriver, 'launch'>;
  readonly metrics: Pick<Metrics, 'restoreEnded'>;
  /** How many launches run at the same time. */
  readonly concurrency: number;
  /** How long a launch may take, including its time in the queue. */
  readonly deadlineMs: number;
}

/** Launches machines, a few at a time. Launches for creates go before launches for the pool. */
export class Launcher {
  readonly #driver: LauncherOptions['driver'];
  readonly #metrics: LauncherOptions['metrics'];
  readonly #deadlineMs: number;
  readonly #queue: PQueue;

  constructor({ driver, metrics, concurrency, deadlineMs }: LauncherOptions) {
    this.#driver = driver;
    this.#metrics = metrics;
    this.#deadlineMs = deadlineMs;
    this.#queue = new PQueue({ concurrency });
  }

  /** Launches that are running. */
  get inFlight(): number {
    return this.#queue.pending;
  }

  /** Launches that wait in the queue. */
  get waiting(): number {
    return this.#queue.size;
  }

  /** Launches a machine. If it is ready only after the deadline, `onLate` receives it and must destroy it. */
  launch(request: LaunchRequest, purpose: LaunchPurpose, onLate: (machine: Machine) => void): Promise<Machine> {
    return withDeadline('the launch', this.#deadlineMs, this.#enqueue(request, purpose), { onLate });
  }

  /** The signal removes a launch that waits; one that runs gets the signal through its request. */
  async #enqueue(request: LaunchRequest, purpose: LaunchPurpose): Promise<Machine> {
    const { signal } = request;
    signal?.throwIfAborted();
    // Not the request's own signal: the queue would abandon a running launch, and the machine with it.
    const queued = new AbortController();
    const leaveQueue = () => queued.abort(signal?.reason);
    signal?.addEventListener('abort', leaveQueue, { once: true });
    const start = () => {
      signal?.removeEventListener('abort', leaveQueue);
      return this.#start(request, purpose);
    };
    return await this.#queue.add(start, { priority: priorities[purpose], signal: queued.signal });
  }

  async #start(request: LaunchRequest, purpose: LaunchPurpose): Promise<Machine> {
    const startedAtMs = performance.now();
    const report = (outcome: 'ok' | 'failed') => {
      const durationMs = performance.now() - startedAtMs;
      this.#metrics.restoreEnded({ size: request.size, purpose, outcome, durationMs });
    };
    try {
      const machine = await this.#driver.launch(request);
      report('ok');
      return machine;
    } catch (error) {
      report('failed');
      throw error;
    }
  }
}
