import { type CliIo, Failure } from './cli-io.ts';

export interface InterruptionTexts {
  /** Written at once, if what was started takes a while to be cleaned up. */
  readonly notice?: string;
  /** The message of the Failure that the signal aborts with. */
  readonly failure?: string;
}

/**
 * Aborts on Ctrl-C and SIGTERM, so that a command can clean up what it started. A second Ctrl-C ends the process at once; one that follows
 * within a second is the same one, delivered by the terminal and by the process that started this one.
 */
export function watchForInterruption(
  { stderr }: Pick<CliIo, 'stderr'>,
  { notice, failure = 'Interrupted.' }: InterruptionTexts = {},
): Disposable & { readonly signal: AbortSignal } {
  const controller = new AbortController();
  let firstAtMs: number | undefined;
  const onSignal = () => {
    if (firstAtMs !== undefined) {
      if (Date.now() - firstAtMs > 1000) process.exit(130);
      return;
    }
    firstAtMs = Date.now();
    if (notice !== undefined) stderr.write(`\n${notice}\n`);
    controller.abort(new Failure(failure, { exitCode: 130 }));
  };
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal);
  return {
    signal: controller.signal,
    [Symbol.dispose]: () => void process.off('SIGINT', onSignal).off('SIGTERM', onSignal),
  };
}

/** Waits for work that cannot be aborted. If the signal aborts, waits for its result, undoes it and throws the reason. */
export async function finishOrUndo<Result>(
  work: Promise<Result>,
  signal: AbortSignal,
  undo: (result: Result) => Promise<unknown>,
): Promise<Result> {
  const result = await work;
  if (!signal.aborted) return result;
  await undo(result);
  throw signal.reason;
}
