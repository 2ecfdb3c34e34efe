import { HostUnavailable, type Machine } from '../ports/machine-driver.ts';
import type { Metrics } from '../ports/metrics.ts';
import type { Log } from '../ports/runtime.ts';
import type { BackgroundTasks } from '../scheduling/background-tasks.ts';
import { Backoff } from '../scheduling/backoff.ts';

export const retryPauses = { firstMs: 1_000, longestMs: 60_000 };

export interface TeardownsOptions {
  readonly background: BackgroundTasks;
  readonly log: Log;
  readonly metrics: Pick<Metrics, 'teardownFailed' | 'teardownRetried'>;
}

/** Destroys machines, and retries with backoff those that could not be destroyed. */
export class Teardowns implements Disposable {
  readonly #options: TeardownsOptions;
  /** The ids of attempts in progress. */
  readonly #running = new Set<string>();
  readonly #timers = new Map<string, NodeJS.Timeout>();
  readonly #backoffs = new Map<string, Backoff>();
  #stopped = false;

  constructor(options: TeardownsOptions) {
    this.#options = options;
  }

  /** Failed teardowns that wait for their next attempt. */
  get waiting(): number {
    return this.#timers.size;
  }

  /** Whether an attempt under this id is in progress. */
  isRunning(id: string): boolean {
    return this.#running.has(id);
  }

  /** Runs a teardown. Rejects if the first attempt fails, and retries in the background until one succeeds. */
  async run<T>(id: string, logFields: object, teardown: () => Promise<T>): Promise<T> {
    try {
      const result = await this.#attempt(id, logFields, teardown);
      this.#cancelRetry(id);
      return result;
    } catch (error) {
      this.#retryLater(id, () => this.#attempt(id, logFields, teardown, error), error);
      throw error;
    }
  }

  /** Destroys a machine that serves no sandbox. Never rejects: if the first attempt fails, the retries take over. */
  async destroyOrphan(machine: Pick<Machine, 'id' | 'destroy'>): Promise<void> {
    await this.run(machine.id, { machine_id: machine.id }, () => machine.destroy()).catch(() => {});
  }

  /** Stops retrying. The next run of the service finds what is left and destroys it. */
  [Symbol.dispose](): void {
    this.#stopped = true;
    for (const timer of this.#timers.values()) clearTimeout(timer);
    this.#timers.clear();
  }

  /** `earlier` is why the first attempt failed. While the host process is away, only that one is worth a line. */
  async #attempt<T>(id: string, logFields: object, teardown: () => Promise<T>, earlier?: unknown): Promise<T> {
    const { background, log, metrics } = this.#options;
    this.#running.add(id);
    try {
      return await background.track(teardown());
    } catch (err) {
      const isKnown = err instanceof HostUnavailable && earlier instanceof HostUnavailable;
      log[isKnown ? 'debug' : 'error']({ ...logFields, err }, 'teardown_failed');
      metrics.teardownFailed();
      throw err;
    } finally {
      this.#running.delete(id);
    }
  }

  /** Schedules the next attempt, unless one is already scheduled under this id. Once an absent host process is back, the pause is short. */
  #retryLater(id: string, attempt: () => Promise<unknown>, error: unknown): void {
    if (this.#stopped || this.#timers.has(id)) return;
    const backoff = this.#backoffs.get(id) ?? new Backoff(retryPauses);
    this.#backoffs.set(id, backoff);
    if (error instanceof HostUnavailable) backoff.reset();
    const timer = setTimeout(() => void this.#retry(id, attempt), backoff.nextMs());
    timer.unref();
    this.#timers.set(id, timer);
  }

  /** What an earlier attempt left to be retried is done. */
  #cancelRetry(id: string): void {
    clearTimeout(this.#timers.get(id));
    this.#timers.delete(id);
    this.#backoffs.delete(id);
  }

  async #retry(id: string, attempt: () => Promise<unknown>): Promise<void> {
    this.#timers.delete(id);
    this.#options.metrics.teardownRetried();
    try {
      await attempt();
      this.#backoffs.delete(id);
    } catch (error) {
      this.#retryLater(id, attempt, error);
    }
  }
}
