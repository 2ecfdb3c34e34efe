import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { type CliIo, Failure, usageFailure } from './cli-io.ts';

/** Whether somebody can be asked. */
export function canAsk({ stdin, stderr }: CliIo): boolean {
  return stdin?.isTTY === true && stderr.isTTY === true;
}

export interface AskOptions {
  /** Whether the answer is not shown. */
  readonly isSecret?: boolean;
  /** Ends the question with its reason. */
  readonly signal?: AbortSignal;
}

/**
 * Asks on the terminal and returns the answer, without surrounding spaces. Throws a Failure on Ctrl-C or at the end of the input, and the reason of
 * the signal when it aborts.
 */
export async function ask(
  { stdin, stderr }: CliIo,
  question: string,
  { isSecret = false, signal }: AskOptions = {},
): Promise<string> {
  if (stdin === undefined) throw new Error('There is nobody to ask.');
  signal?.throwIfAborted();
  const output = new Writable({
    write(chunk: Buffer, _encoding, done) {
      if (!isSecret) stderr.write(chunk);
      done();
    },
  });
  const lines = createInterface({ input: stdin, output, terminal: true });
  let abort = () => {};
  try {
    return await new Promise<string>((resolve, reject) => {
      const interrupted = () => reject(new Failure('Interrupted.', { exitCode: 130 }));
      abort = () => reject(signal?.reason);
      signal?.addEventListener('abort', abort, { once: true });
      // A terminal that was closed cannot be read, nor put back into its mode.
      lines.once('SIGINT', interrupted).once('close', interrupted).on('error', interrupted);
      stdin.on('error', interrupted);
      if (isSecret) stderr.write(question);
      lines.question(question, (answer) => resolve(answer.trim()));
    });
  } catch (error) {
    if (!isSecret) stderr.write('\n');
    throw error;
  } finally {
    signal?.removeEventListener('abort', abort);
    lines.close();
    if (isSecret) stderr.write('\n');
  }
}

export interface Confirmation {
  readonly question: string;
  /** Whether it is confirmed already. */
  readonly yes: boolean;
  /** Ends the question with its reason. */
  readonly signal: AbortSignal;
}

/** Asks before something that cannot be undone, unless `yes`. Throws a Failure if the answer is not yes, or if nobody can be asked. */
export async function confirm(io: CliIo, { question, yes, signal }: Confirmation): Promise<void> {
  if (yes) return;
  if (!canAsk(io)) throw usageFailure('There is no terminal to confirm this on. Pass --yes.');
  const answer = await ask(io, `${question} [y/N] `, { signal });
  if (!/^y(es)?$/i.test(answer)) throw new Failure('Nothing was changed.');
}
