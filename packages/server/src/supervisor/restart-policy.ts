import { constants } from 'node:os';
import { notStartedCode } from '../confinement/start-confined.ts';
import { Backoff } from '../core/scheduling/backoff.ts';
import { cannotStartCode, cannotStartYetCode } from '../process/start-failure.ts';

/** How a process ended. */
export interface ProcessEnd {
  /** Null after a signal, and if the process could not be started. */
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly uptimeMs: number;
}

/** What the supervisor does about it. */
export type AfterEnd =
  | { readonly kind: 'restart'; readonly pauseMs: number }
  /** Nothing that happens later would help, e.g. a setting is wrong. */
  | { readonly kind: 'give_up'; readonly exitCode: number };

/** A process that ran this long is no longer starting, so its next restart is a first one again. */
export const stableMs = 60_000;

export const pauses = { firstMs: 200, longestMs: 30_000 };

/**
 * Decides about each end of one process: it is restarted with growing pauses, unless it never ran and either explained why it cannot start, or
 * mayfly-jail could not start it. Later the reason may go away: the settings are the same with which it ran before.
 */
export class RestartPolicy {
  readonly #backoff = new Backoff(pauses);
  #hasRun = false;

  afterEnd({ code, signal, uptimeMs }: ProcessEnd): AfterEnd {
    const isFinal = code === cannotStartCode || code === notStartedCode;
    if (isFinal && !this.#hasRun) return { kind: 'give_up', exitCode: 1 };
    const isStart = isFinal || code === cannotStartYetCode;
    if (!isStart && (signal !== null || code !== null)) this.#hasRun = true;
    if (uptimeMs >= stableMs) this.#backoff.reset();
    return { kind: 'restart', pauseMs: this.#backoff.nextMs() };
  }
}

/** How a process ended, for people: "ended (killed by SIGSEGV)", "cannot start yet". */
export function describeEnd({ code, signal }: Pick<ProcessEnd, 'code' | 'signal'>): string {
  const killedBy = signal ?? signalOf(code ?? 0);
  if (killedBy !== undefined) return `ended (killed by ${killedBy})`;
  if (code === null || code === notStartedCode) return 'could not be started';
  if (code === cannotStartCode) return 'cannot start';
  if (code === cannotStartYetCode) return 'cannot start yet';
  return `ended (exit code ${code})`;
}

/** The signal that an exit code stands for: mayfly-jail reports, like a shell, the end of its process by a signal as 128 + its number. */
function signalOf(code: number): string | undefined {
  return Object.entries(constants.signals).find(([, number]) => number === code - 128)?.[0];
}
