import { MayflyError } from './api/api-error.ts';
import type { Connection, RequestSettings } from './http/connection.ts';

type OptionalSettings = { readonly [Name in keyof RequestSettings]?: RequestSettings[Name] | undefined };

export interface MayflyOptions extends OptionalSettings {
  /** An API key. Otherwise the key of the profile if one is named, else `MAYFLY_API_KEY`, or the key of the current profile. */
  readonly apiKey?: string | undefined;
  /**
   * The URL of the service, with or without `/v1`. Otherwise the URL of the profile if one is named, else `MAYFLY_BASE_URL`, or the URL of the
   * current profile, or `http://127.0.0.1:8080`.
   */
  readonly baseUrl?: string | undefined;
  /** The profile of `mayfly login` to use. Otherwise `MAYFLY_PROFILE`, or the current one. */
  readonly profile?: string | undefined;
  /** Takes the place of the environment variables of this process. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
  /** Takes the place of the global `fetch`, for example to go through a proxy. */
  readonly fetch?: typeof globalThis.fetch | undefined;
}

/** What the file of `mayfly login` holds. */
export interface ProfileFile {
  /** The profile that is used unless another is named. */
  readonly current?: string;
  readonly profiles?: Readonly<Record<string, Profile>>;
}

export interface Profile {
  readonly url: string;
  readonly api_key: string;
}

const defaultUrl = 'http://127.0.0.1:8080';
/** What can be sent in a header. */
const keyPattern = /^[\x21-\x7e]+$/;
export const defaults = { maxRetries: 4, retryDelayMs: 500, reconnectMs: 60_000 } as const;

/**
 * Where requests go. A profile that is named says it, unless the options do; otherwise the options come first, then the environment, then the
 * current profile. Throws if there is no key, one that cannot be sent, or no profile of that name.
 */
export function connectionOf(options: MayflyOptions, environment: Environment = hostEnvironment()): Connection {
  const { requestTimeoutMs, deadlineMs } = options;
  const fetch = options.fetch ?? ((input, init) => globalThis.fetch(input, init));
  return {
    ...targetOf(options, { ...environment, env: options.env ?? environment.env }),
    fetch,
    requestTimeoutMs,
    deadlineMs,
    maxRetries: options.maxRetries ?? defaults.maxRetries,
    retryDelayMs: options.retryDelayMs ?? defaults.retryDelayMs,
    reconnectMs: options.reconnectMs ?? defaults.reconnectMs,
  };
}

function targetOf(options: MayflyOptions, environment: Environment): Pick<Connection, 'baseUrl' | 'apiKey'> {
  const { env } = environment;
  const isComplete = options.baseUrl !== undefined && options.apiKey !== undefined;
  const named = options.profile ?? (isComplete ? undefined : variable(env, 'MAYFLY_PROFILE'));
  // A key of the environment is never sent to the service of a profile that was named.
  const unnamed = (name: string) => (named === undefined ? variable(env, name) : undefined);
  const givenUrl = options.baseUrl ?? unnamed('MAYFLY_BASE_URL');
  const givenKey = options.apiKey ?? unnamed('MAYFLY_API_KEY');
  const needsProfile = named !== undefined || givenKey === undefined || givenUrl === undefined;
  const profile = needsProfile ? profileOf(environment, named) : undefined;
  const baseUrl = withVersion(givenUrl ?? profile?.url ?? defaultUrl);
  // The key of a profile goes to the service of that profile and to no other.
  const isProfileUrl = profile !== undefined && withVersion(profile.url) === baseUrl;
  const apiKey = givenKey ?? (isProfileUrl ? profile.api_key : undefined);
  if (apiKey === undefined || apiKey === '') {
    throw new MayflyError(
      `There is no API key for ${baseUrl}. Pass apiKey, set MAYFLY_API_KEY, or run "mayfly login" once.`,
    );
  }
  // The error of fetch would quote the whole header, with the key.
  if (!keyPattern.test(apiKey)) {
    throw new MayflyError('The API key contains characters that no key has. Check where it was copied from.');
  }
  return { baseUrl, apiKey };
}

/** A variable of the environment. Undefined if it is empty, or may not be read, as in Deno without --allow-env. */
function variable(env: Environment['env'], name: string): string | undefined {
  try {
    return env[name] || undefined;
  } catch {
    return undefined;
  }
}

function withVersion(url: string): string {
  let parsed: URL;
  try {
    parsed = new URL(url);
  } catch {
    throw new MayflyError(`The base URL ${JSON.stringify(url)} is not a URL. Use one like ${defaultUrl}.`);
  }
  if (!/^https?:$/.test(parsed.protocol))
    throw new MayflyError(`The base URL ${url} must begin with http:// or https://.`);
  return `${parsed.origin}${parsed.pathname.replace(/\/+$/, '').replace(/\/v1$/, '')}/v1`;
}

/** What this package reads of the machine it runs on. In a browser there is nothing. */
export interface Environment {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The text of a file. Undefined if there is none. */
  readonly readFile: (path: string) => string | undefined;
}

/** The file that `mayfly login` writes. Undefined if there is no home directory. */
export function profilePathOf(env: Environment['env']): string | undefined {
  const path = variable(env, 'MAYFLY_CONFIG_FILE');
  if (path !== undefined) return path;
  const home = variable(env, 'HOME');
  const folder = variable(env, 'XDG_CONFIG_HOME') ?? (home === undefined ? undefined : `${home}/.config`);
  return folder === undefined ? undefined : `${folder}/mayfly/config.json`;
}

function profileOf({ env, readFile }: Environment, named: string | undefined): Profile | undefined {
  const path = profilePathOf(env);
  const text = path === undefined ? undefined : readFile(path);
  if (text === undefined) {
    if (named === undefined) return undefined;
    throw new MayflyError(`There is no profile ${JSON.stringify(named)}. Run "mayfly login --profile ${named}" once.`);
  }
  let file: ProfileFile;
  try {
    file = JSON.parse(text) as ProfileFile;
  } catch (cause) {
    throw new MayflyError(`${path} is not valid JSON. Correct it, or move it away and run "mayfly login".`, { cause });
  }
  const name = named ?? file.current ?? 'default';
  const profile = file.profiles?.[name];
  if (profile === undefined && named !== undefined) {
    throw new MayflyError(`${path} has no profile ${JSON.stringify(name)}. Run "mayfly login --profile ${name}" once.`);
  }
  return profile;
}

interface HostProcess {
  readonly env?: Environment['env'];
  readonly getBuiltinModule?: (
    name: string,
  ) => { readFileSync?: (path: string, encoding: 'utf8') => string } | undefined;
}

function hostEnvironment(): Environment {
  const { process } = globalThis as { process?: HostProcess };
  const readFile = (path: string) => {
    try {
      return process?.getBuiltinModule?.('node:fs')?.readFileSync?.(path, 'utf8');
    } catch {
      return undefined;
    }
  };
  try {
    return { env: process?.env ?? {}, readFile };
  } catch {
    return { env: {}, readFile };
  }
}
