import { ApiError, ConnectionError, Mayfly, MayflyError } from '@mayfly/sdk';
import type { Command } from 'commander';
import { type CliIo, type ExitCode, Failure } from '../cli-io.ts';

/** The options of every command that uses a service. */
export interface ServiceOptions {
  readonly profile?: string;
  readonly url?: string;
  readonly json?: true;
}

/** Retries of a request. Fewer than the SDK makes: somebody is waiting for the message. */
const maxRetries = 2;

/** Adds the options that say which service is used, and --json. */
export function addServiceOptions(command: Command, json = 'print the result as JSON, errors included'): Command {
  return command
    .option('--profile <name>', 'profile of `mayfly login` (default: $MAYFLY_PROFILE, or the current one)')
    .option('--url <url>', 'address of the service (default: $MAYFLY_BASE_URL, or the address of the profile)')
    .option('--json', json);
}

/**
 * The client of the service that the options, the environment or the profile name. A profile that is named on the command line comes before the
 * environment. Throws a Failure if there is no key.
 */
export function clientOf({ env }: Pick<CliIo, 'env'>, { profile, url }: ServiceOptions): Mayfly {
  try {
    return new Mayfly({ env: environmentFor(profile, env), profile, baseUrl: url, maxRetries });
  } catch (error) {
    throw failureOf(error, 2);
  }
}

/** The variables that count if this profile was named on the command line. */
function environmentFor(profile: string | undefined, env: CliIo['env']): CliIo['env'] {
  if (profile === undefined) return env;
  const { MAYFLY_API_KEY: _key, MAYFLY_BASE_URL: _url, ...rest } = env;
  return rest;
}

/** The one line that a user sees: what happened, then what to do. Errors that are not of the SDK are returned as they are. */
export function failureOf(error: unknown, exitCode: ExitCode = 3): unknown {
  if (!(error instanceof MayflyError)) return error;
  return new Failure(forCommandLine(error.message) + adviceOf(error), {
    cause: error,
    exitCode: error instanceof ConnectionError ? 3 : exitCode,
  });
}

/** What the SDK says to programs, and what it means on a command line. */
const rewordings = [
  ['Pass apiKey, set MAYFLY_API_KEY,', 'Set MAYFLY_API_KEY,'],
  [' and that the base URL is right.', ', or pass its address with --url.'],
  ['Check the base URL.', 'Pass the address of the service with --url.'],
  ['use that as the base URL', 'pass that with --url'],
  ['The base URL ', 'The address '],
] as const;

function forCommandLine(message: string): string {
  return rewordings.reduce((text, [said, meant]) => text.replace(said, meant), message);
}

function adviceOf(error: MayflyError): string {
  if (!(error instanceof ApiError) || error.message.includes(error.hint)) return '';
  const isAboutKey = error.type === 'invalid_api_key' || error.type === 'missing_api_key';
  return ` ${isAboutKey ? 'Run "mayfly login", or set MAYFLY_API_KEY.' : error.hint}`;
}

/** The types of errors that have none. */
const defaultTypes: Readonly<Record<ExitCode, string>> = {
  1: 'failed',
  2: 'invalid_command_line',
  3: 'service_failed',
  125: 'failed',
  130: 'interrupted',
  143: 'interrupted',
  129: 'interrupted',
};

export interface ErrorBody {
  readonly error: { readonly type: string; readonly message: string };
  readonly request_id: string | null;
}

/** An error as the API sends it: its own body if the service refused a request. */
export function errorBody(failure: Failure): ErrorBody {
  const { cause, exitCode, message } = failure;
  if (cause instanceof ApiError) {
    const said = cause.message.replace(` (${cause.type}, request ${cause.requestId})`, '');
    return { error: { type: cause.type, message: said }, request_id: cause.requestId };
  }
  const ownType = cause instanceof ConnectionError ? 'connection_failed' : defaultTypes[exitCode];
  return { error: { type: failure.type ?? ownType, message }, request_id: null };
}
