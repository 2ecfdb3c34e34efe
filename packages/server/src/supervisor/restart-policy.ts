import { Backoff } from '../core/scheduling/backoff.ts';
import { cannotStartCode } from '../process/exit-codes.ts';

/** How a process ended. */
export interface ProcessEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly uptimeMs: number;
}

/** What the supervisor does about it. */
export type AfterEnd =
  | { readonly kind: 'restart'; readonly pauseMs: number }
  /** Nothing that happens later would help, e.g. a setting is wrong. */
  | { readonly kind: 'give up'; readonly exitCode: number };

/** A process that ran this long is no longer starting, so its next restart is a first one again. */
const stableMs = 60_000;

const pauses = { firstMs: 200, longestMs: 30_000 };

/**
 * Decides about each end of one process: it is restarted with growing pauses, unless its first start explained why it cannot start. Later the reason may
 * go away, such as a database that is down: the settings are the same with which it started before.
 */
export class RestartPolicy {
  readonly #backoff = new Backoff(pauses);
  #isFirst = true;

  afterEnd({ code, uptimeMs }: ProcessEnd): AfterEnd {
    if (code === cannotStartCode && this.#isFirst) return { kind: 'give up', exitCode: 1 };
    this.#isFirst = false;
    if (uptimeMs >= stableMs) this.#backoff.reset();
    return { kind: 'restart', pauseMs: this.#backoff.nextMs() };
  }
}

/** How a process ended, for people: "killed by SIGSEGV", "exit code 1". */
export function describeEnd({ code, signal }: Pick<ProcessEnd, 'code' | 'signal'>): string {
  return signal === null ? `exit code ${code}` : `killed by ${signal}`;
}
