import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { oneLine } from '../core/errors/api-error.ts';
import type { Log } from '../core/ports/runtime.ts';
import { reportFailedStart, StartFailure } from '../process/start-failure.ts';
import { describeEnd, type ProcessEnd, RestartPolicy } from './restart-policy.ts';

export interface SupervisedOptions {
  /** What people call it: "service" or "host". */
  readonly name: string;
  readonly start: () => Promise<ChildProcess>;
  readonly log: Log;
  /** Whether its end is the end of its task instead of a failure. */
  readonly endsByItself?: boolean;
  /** Tells the operator, in one line. */
  readonly say: (line: string) => void;
}

/** How long a process may take to stop before it is killed. A service lets requests in flight finish. */
export const stopMs = 60_000;

/** A process that is started again when it ends, until it is stopped or gives up. */
export class SupervisedProcess {
  readonly #options: SupervisedOptions;
  readonly #stopping = new AbortController();
  #child: ChildProcess | undefined;
  /** The exit code for the supervisor, once the process has ended for good: 0 after a stop. */
  readonly ended: Promise<number>;

  constructor(options: SupervisedOptions) {
    this.#options = options;
    this.ended = this.#keepRunning();
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** Asks the process to stop and waits until it has ended; after a minute it is killed. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#child?.kill('SIGTERM');
    using timer = disposableTimer(() => this.kill(), stopMs);
    void timer;
    await this.ended;
  }

  /** Kills the process without waiting. */
  kill(): void {
    this.#stopping.abort();
    this.#child?.kill('SIGKILL');
  }

  async #keepRunning(): Promise<number> {
    const { name, log, say, endsByItself } = this.#options;
    const policy = new RestartPolicy();
    for (;;) {
      const end = await this.#runOnce();
      if (this.#stopping.signal.aborted) return 0;
      if (endsByItself && end.code !== null) return end.code;
      const after = policy.afterEnd(end);
      log.error(
        { process: name, code: end.code, signal: end.signal, uptime_ms: end.uptimeMs, ...after },
        'process_ended',
      );
      if (after.kind === 'give_up') return after.exitCode;
      say(
        `The ${name} process ${describeEnd(end)}${reasonOf(end)}. It is started again in ${after.pauseMs / 1_000} s.`,
      );
      await delay(after.pauseMs, undefined, { signal: this.#stopping.signal }).catch(() => {});
      if (this.#stopping.signal.aborted) return 0;
    }
  }

  async #runOnce(): Promise<ProcessEnd & { readonly error?: unknown }> {
    const startedMs = performance.now();
    const uptimeMs = () => Math.round(performance.now() - startedMs);
    try {
      const child = await this.#options.start();
      this.#child = child;
      // A stop that was requested while the process was being started.
      if (this.#stopping.signal.aborted) child.kill('SIGTERM');
      const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
      return { code, signal, uptimeMs: uptimeMs() };
    } catch (error) {
      // Reported as the process itself reports what keeps it from starting, so that the policy decides about both alike.
      if (error instanceof StartFailure) return { code: reportFailedStart(error), signal: null, uptimeMs: uptimeMs() };
      this.#options.log.error({ process: this.#options.name, err: error }, 'process_not_started');
      return { code: null, signal: null, uptimeMs: uptimeMs(), error };
    } finally {
      this.#child = undefined;
    }
  }
}

/** Why a process could not be started, for the operator. */
function reasonOf({ error }: { readonly error?: unknown }): string {
  return error === undefined ? '' : ` (${oneLine(error).replace(/\.$/, '')})`;
}

function disposableTimer(action: () => void, ms: number): Disposable {
  const timer = setTimeout(action, ms);
  return { [Symbol.dispose]: () => clearTimeout(timer) };
}
