/** A running service to test, from the options of `npm run conformance`. Without one, every test file starts its own service. */
export interface ExternalService {
  /** Ends in the version prefix. Undefined if the tests start their own service. */
  readonly baseUrl: string | undefined;
  readonly keys: Readonly<Partial<Record<AccountKind, string>>>;
}

/** The kinds of accounts that tests use, and the option that passes the key of each. */
export const keyOptions = {
  main: '--key',
  second: '--second-key',
  sibling: '--sibling-key',
  suspended: '--suspended-key',
  revoked: '--revoked-key',
  broke: '--broke-key',
} as const;

export type AccountKind = keyof typeof keyOptions;

/** Reads the options from the environment. */
export function readExternalService(env: NodeJS.ProcessEnv = process.env): ExternalService {
  const url = env[variableFor('--url')];
  const kinds = Object.entries(keyOptions) as [AccountKind, string][];
  return {
    baseUrl: url ? withVersionPrefix(url) : undefined,
    keys: Object.fromEntries(kinds.map(([kind, option]) => [kind, env[variableFor(option)]])),
  };
}

/** Whether the tests run against an external service. */
export const isExternal = readExternalService().baseUrl !== undefined;

/** The environment variable that carries an option, e.g. MAYFLY_CONFORMANCE_SECOND_KEY. */
function variableFor(option: string): string {
  return `MAYFLY_CONFORMANCE_${option.replace(/^--/, '').replaceAll('-', '_').toUpperCase()}`;
}

function withVersionPrefix(url: string): string {
  return url.replace(/\/+$/, '').replace(/(\/v\d+)?$/, (found) => found || '/v1');
}
