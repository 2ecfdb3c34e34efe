import type { Log } from '../../core/ports/runtime.ts';
import type { StepName, StepRunner } from './steps.ts';

interface Acquired {
  readonly name: StepName;
  readonly release: () => Promise<void> | void;
}

/**
 * Host resources that were acquired, released in reverse order. A release that fails stays on the stack together with everything below it,
 * so that nothing is released before what depends on it. The next release() continues there.
 */
export class ReleaseStack {
  readonly #step: StepRunner;
  readonly #acquired: Acquired[] = [];

  constructor(step: StepRunner) {
    this.#step = step;
  }

  /** Records how a resource is released. The release must tolerate being repeated and a resource that was only partly acquired. */
  push(name: StepName, release: Acquired['release']): void {
    this.#acquired.push({ name, release });
  }

  /** Moves everything from another stack onto this one. */
  absorb(other: ReleaseStack): void {
    this.#acquired.push(...other.#acquired.splice(0));
  }

  /** Releases everything. Must not be called again while it runs. */
  async release(): Promise<void> {
    for (let last = this.#acquired.at(-1); last; last = this.#acquired.at(-1)) {
      const { name, release } = last;
      await this.#step(name, async () => await release());
      this.#acquired.pop();
    }
  }
}

const defaultRetryMs = 5_000;

/** Releases resources that no caller owns any more, such as those of a failed launch, and retries until it succeeds. */
export class CleanupRetrier implements AsyncDisposable {
  readonly #log: Log;
  readonly #failed = new Set<ReleaseStack>();
  readonly #timer: NodeJS.Timeout;
  #lastRetry: Promise<void> = Promise.resolve();

  constructor(log: Log, retryMs = defaultRetryMs) {
    this.#log = log;
    this.#timer = setInterval(() => void this.retry(), retryMs).unref();
  }

  /** Releases the stack. Never rejects: a failure is logged and retried later. */
  async release(stack: ReleaseStack): Promise<void> {
    try {
      await stack.release();
    } catch (err) {
      this.#log.error({ err }, 'cleanup_failed');
      this.#failed.add(stack);
    }
  }

  /** Retries every failed cleanup now. Never rejects. */
  retry(): Promise<void> {
    this.#lastRetry = this.#lastRetry.then(async () => {
      for (const stack of [...this.#failed]) {
        this.#failed.delete(stack);
        await this.release(stack);
      }
    });
    return this.#lastRetry;
  }

  /** Retries one last time. The next host process cleans up what fails even then. */
  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer);
    await this.retry();
  }
}
