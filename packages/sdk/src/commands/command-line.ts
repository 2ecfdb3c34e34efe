import { MayflyError } from '../api/api-error.ts';

/**
 * What to run: a string is a command line for bash; an array is a program and its arguments, which no shell interprets. Bytes stand for arguments that
 * are not text.
 */
export type CommandLine = string | readonly (string | Uint8Array)[];

/** The command line for bash that the service expects. */
export function toShell(command: CommandLine): string {
  if (typeof command === 'string') return command;
  if (command.length === 0) throw new MayflyError('The command is empty. Name the program to run.');
  return `exec -- ${command.map(quote).join(' ')}`;
}

function quote(argument: string | Uint8Array): string {
  if (typeof argument !== 'string') return quoteBytes(argument);
  if (argument.includes('\0')) throw new MayflyError('An argument of a command must not contain NUL characters.');
  return /^[\w@%+=:,./-]+$/.test(argument) ? argument : `'${argument.replaceAll("'", `'\\''`)}'`;
}

function quoteBytes(bytes: Uint8Array): string {
  if (bytes.includes(0)) throw new MayflyError('An argument of a command must not contain NUL bytes.');
  return `$'${Array.from(bytes, (byte) => `\\x${byte.toString(16).padStart(2, '0')}`).join('')}'`;
}
