import { constants } from 'node:os';
import { type CliIo, CommandExit, Failure, type InterruptedCode } from './cli-io.ts';

type Name = 'SIGINT' | 'SIGTERM' | 'SIGHUP';

const names: readonly Name[] = ['SIGINT', 'SIGTERM', 'SIGHUP'];
/**
 * A terminal delivers a signal to all processes of a command line, and the process that started this one passes it on: a second one within this time
 * is the same.
 */
const sameSignalMs = 500;

/** What a command ends with when its terminal is gone: the code of SIGHUP. */
export const hangUpCode = 129;

/**
 * Watches for Ctrl-C, SIGTERM and SIGHUP until it is disposed. The first asks what is running to end, the second stops waiting for it, the third
 * ends the process as soon as this is disposed. All three abort with the same kind of error, whose exit code is the first signal's: 130,
 * 143 or 129.
 */
export class Interruption implements Disposable {
  readonly #aborts = [new AbortController(), new AbortController(), new AbortController()] as const;
  readonly #listeners = names.map((name) => ({ name, listener: () => this.#receive(name) }));
  readonly #lastAtMs = new Map<Name, number>();
  readonly #failure: string | undefined;
  #first: Name | undefined;
  #endsProcess = false;

  /** The signals abort with a CommandExit, which has no message, or with a Failure that has this one. */
  constructor(failure?: string) {
    this.#failure = failure;
    for (const { name, listener } of this.#listeners) process.on(name, listener);
    this.third.addEventListener('abort', () => this.endProcess(), { once: true });
  }

  get first(): AbortSignal {
    return this.#aborts[0].signal;
  }

  get second(): AbortSignal {
    return this.#aborts[1].signal;
  }

  get third(): AbortSignal {
    return this.#aborts[2].signal;
  }

  /** The first signal as the service names it. Undefined if there was none. */
  get signalName(): 'INT' | 'TERM' | 'HUP' | undefined {
    return this.#first?.slice('SIG'.length) as 'INT' | 'TERM' | 'HUP' | undefined;
  }

  /** 128 + the number of the first signal. Undefined if there was none. */
  get exitCode(): InterruptedCode | undefined {
    return this.#first && ((128 + constants.signals[this.#first]) as InterruptedCode);
  }

  /** Ends the process when this is disposed, instead of waiting for requests that are under way. */
  endProcess(): void {
    this.#endsProcess = true;
  }

  [Symbol.dispose](): void {
    for (const { name, listener } of this.#listeners) process.off(name, listener);
    if (this.#endsProcess) process.exit(this.exitCode);
  }

  #receive(name: Name): void {
    const nowMs = performance.now();
    const lastAtMs = this.#lastAtMs.get(name) ?? Number.NEGATIVE_INFINITY;
    this.#lastAtMs.set(name, nowMs);
    if (nowMs - lastAtMs < sameSignalMs) return;
    this.#first ??= name;
    const exitCode = this.exitCode ?? 130;
    const next = this.#aborts.find(({ signal }) => !signal.aborted);
    next?.abort(this.#failure === undefined ? new CommandExit(exitCode) : new Failure(this.#failure, { exitCode }));
  }
}

export interface InterruptionTexts {
  /** Written at once, if what was started takes a while to be cleaned up. */
  readonly notice?: string;
  /** The message of the Failure that the signals abort with. */
  readonly failure?: string;
}

/** The Interruption of a command that cleans up what it has made. The first signal writes the notice, the second ends the process at once. */
export function watchForInterruption(
  { stderr }: Pick<CliIo, 'stderr'>,
  { notice, failure = 'Interrupted.' }: InterruptionTexts = {},
): Interruption {
  const interruption = new Interruption(failure);
  if (notice !== undefined) interruption.first.addEventListener('abort', () => stderr.write(`\n${notice}\n`));
  interruption.second.addEventListener('abort', () => process.exit(interruption.exitCode));
  return interruption;
}

/** Waits for work, or throws the reason of the signal as soon as it aborts, even if the work itself hangs. */
export async function untilAborted<Result>(signal: AbortSignal, work: Promise<Result>): Promise<Result> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = () => reject(signal.reason);
  if (signal.aborted) abort();
  signal.addEventListener('abort', abort, { once: true });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

/** Something that was made, and how to delete it. */
export interface Made {
  readonly id: string;
  readonly delete: () => Promise<unknown>;
}

/**
 * Waits for work that cannot be aborted. If the signal aborts, waits for the result, deletes everything that was made and throws the reason. Throws a
 * Failure that names what could not be deleted, and the command that deletes it.
 */
export async function finishOrDelete<Result>(
  work: Promise<Result>,
  signal: AbortSignal,
  { made, command }: { readonly made: (result: Result) => readonly Made[]; readonly command: string },
): Promise<Result> {
  const result = await work;
  if (!signal.aborted) return result;
  const all = made(result);
  const deletions = await Promise.allSettled(all.map((each) => each.delete()));
  const left = all.filter((_, index) => deletions[index]?.status === 'rejected').map(({ id }) => id);
  const { reason } = signal as { readonly reason: unknown };
  if (left.length === 0 || !(reason instanceof Failure)) throw reason;
  const { message, exitCode } = reason;
  const cause: unknown = deletions.find((deletion) => deletion.status === 'rejected')?.reason;
  const why = cause instanceof Error ? cause.message.replace(/\.$/, '') : String(cause);
  const advice = `Delete what is left with: ${command} ${left.join(' ')}`;
  throw new Failure(`${message} ${left.join(', ')} could not be deleted: ${why}. ${advice}`, {
    exitCode,
    cause,
    type: 'interrupted',
  });
}
