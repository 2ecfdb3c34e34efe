import type { CommandLine, SpawnOptions } from '@mayfly/sdk';
import type { Command } from 'commander';
import { type CliIo, usageFailure } from '../cli-io.ts';
import { parseInteger } from '../numbers.ts';

/** How a command in a sandbox is run. */
export interface CommandOptions {
  readonly env?: readonly string[];
  readonly cwd?: string;
  readonly timeout?: string;
  readonly interactive?: true;
}

/** Adds the options of every command that runs something in a sandbox. */
export function addCommandOptions(command: Command): Command {
  return command
    .option(
      '-e, --env <name=value>',
      'environment variable of the command; NAME alone takes the value from here; may be repeated',
      collect,
    )
    .option('--cwd <folder>', 'working directory of the command (default: /workspace)')
    .option('--timeout <seconds>', 'kill the command after this time; the exit code is 124')
    .option('-i, --interactive', 'pass standard input on, even if it is a terminal');
}

/** Throws a usage failure if an option is invalid. */
export function readCommandOptions({ env, cwd, timeout }: CommandOptions, io: Pick<CliIo, 'env'>): SpawnOptions {
  const variables = env?.flatMap((text) => variableOf(text, io.env));
  return {
    ...(variables && { env: Object.fromEntries(variables) }),
    ...(cwd !== undefined && { cwd }),
    ...(timeout !== undefined && { timeoutMs: parseInteger('--timeout', timeout) * 1000 }),
  };
}

/** Several words are a program with its arguments, a single one is a command line for bash. Throws a usage failure if there is none. */
export function commandLineOf(words: readonly string[]): CommandLine {
  const [first, second] = words;
  if (first === undefined || first === '') throw usageFailure('There is no command to run.');
  return second === undefined ? first : words;
}

/** A name without a value gets its value from this process, and is left out if this process has none. */
function variableOf(text: string, env: CliIo['env']): [string, string][] {
  const equals = text.indexOf('=');
  if (equals === 0 || text === '') throw usageFailure(`--env ${text} is not of the form NAME=VALUE or NAME.`);
  if (equals > 0) return [[text.slice(0, equals), text.slice(equals + 1)]];
  const value = env[text];
  return value === undefined ? [] : [[text, value]];
}

function collect(value: string, before: readonly string[] = []): string[] {
  return [...before, value];
}
