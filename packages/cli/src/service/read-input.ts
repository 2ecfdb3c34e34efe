import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { type CliIo, Failure, usageFailure } from '../cli-io.ts';

/** All that is piped into the command. Throws a Failure if it is a terminal. */
export async function readStdin({ stdin }: CliIo, option: string): Promise<string> {
  if (stdin === undefined || stdin.isTTY) throw usageFailure(`${option} reads standard input. Pipe something into it.`);
  return await text(stdin);
}

/** The text of an option: `-` is standard input, `@file` a file, and anything else the text itself. */
export async function readText(io: CliIo, option: string, value: string): Promise<string> {
  if (value === '-') return await readStdin(io, `${option} -`);
  if (!value.startsWith('@')) return value;
  try {
    return await readFile(value.slice(1), 'utf8');
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new Failure(`${value.slice(1)} could not be read: ${reason}.`, { cause, exitCode: 2 });
  }
}
