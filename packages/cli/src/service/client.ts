import { ApiError, ConnectionError, Mayfly, MayflyError } from '@mayfly/sdk';
import type { Command } from 'commander';
import { type CliIo, type ExitCode, Failure } from '../cli-io.ts';

/** The options of every command that uses a service. */
export interface ServiceOptions {
  readonly profile?: string;
  readonly url?: string;
  readonly json?: true;
}

/** Adds the options that say which service is used, and --json. */
export function addServiceOptions(command: Command): Command {
  return command
    .option('--profile <name>', 'profile of `mayfly login` (default: $MAYFLY_PROFILE, or the current one)')
    .option('--url <url>', 'address of the service (default: $MAYFLY_BASE_URL, or that of the profile)')
    .option('--json', 'print the result as JSON, errors included');
}

/** The client of the service that the options, the environment or the profile name. Throws a Failure if there is no key. */
export function clientOf({ env }: CliIo, { profile, url }: ServiceOptions): Mayfly {
  try {
    return new Mayfly({ env, profile, baseUrl: url });
  } catch (error) {
    throw failureOf(error, 2);
  }
}

/** The one line that a user sees: what happened, then what to do. Errors that are not of the SDK are returned as they are. */
export function failureOf(error: unknown, exitCode: ExitCode = 3): unknown {
  if (!(error instanceof MayflyError)) return error;
  const advice = error instanceof ApiError && !error.message.includes(error.hint) ? ` ${error.hint}` : '';
  const options = { cause: error, exitCode: error instanceof ConnectionError ? 3 : exitCode };
  return new Failure(`${error.message}${advice}`, options as { cause: unknown; exitCode: ExitCode });
}
