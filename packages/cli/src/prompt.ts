import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { type CliIo, Failure, usageFailure } from './cli-io.ts';

/** Whether somebody can be asked. */
export function canAsk({ stdin, stderr }: CliIo): boolean {
  return stdin?.isTTY === true && stderr.isTTY === true;
}

/** Asks on the terminal and returns the answer, without surrounding spaces. Throws a Failure on Ctrl-C or at the end of the input. */
export async function ask({ stdin, stderr }: CliIo, question: string, { isSecret = false } = {}): Promise<string> {
  if (stdin === undefined) throw new Error('There is nobody to ask.');
  const output = new Writable({
    write(chunk: Buffer, _encoding, done) {
      if (!isSecret) stderr.write(chunk);
      done();
    },
  });
  const lines = createInterface({ input: stdin, output, terminal: true });
  try {
    return await new Promise<string>((resolve, reject) => {
      const interrupted = () => reject(new Failure('Interrupted.', { exitCode: 130 }));
      lines.once('SIGINT', interrupted).once('close', interrupted);
      if (isSecret) stderr.write(question);
      lines.question(question, (answer) => resolve(answer.trim()));
    });
  } catch (error) {
    if (!isSecret) stderr.write('\n');
    throw error;
  } finally {
    lines.close();
    if (isSecret) stderr.write('\n');
  }
}

/** Asks before something that cannot be undone, unless `yes`. Throws a Failure if the answer is not yes, or if nobody can be asked. */
export async function confirm(io: CliIo, { question, yes }: { question: string; yes: boolean }): Promise<void> {
  if (yes) return;
  if (!canAsk(io)) throw usageFailure('There is no terminal to confirm this on. Pass --yes.');
  const answer = await ask(io, `${question} [y/N] `);
  if (!/^y(es)?$/i.test(answer)) throw new Failure('Nothing was changed.');
}
