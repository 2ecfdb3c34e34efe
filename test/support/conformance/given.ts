/** What a run was given: somebody's service, or nothing; then every file starts a service of its own. */
export interface Given {
  /** Ends in the version prefix. */
  readonly baseUrl: string | undefined;
  readonly keys: Readonly<Partial<Record<AccountKind, string>>>;
}

/** The accounts that tests speak as, and the option that gives the key of each. */
export const accountOptions = {
  main: '--key',
  second: '--second-key',
  sibling: '--sibling-key',
  suspended: '--suspended-key',
  revoked: '--revoked-key',
  broke: '--broke-key',
} as const;

export type AccountKind = keyof typeof accountOptions;

/** The variable that carries an option to the tests, e.g. MAYFLY_CONFORMANCE_SECOND_KEY. */
const variableOf = (option: string): string =>
  `MAYFLY_CONFORMANCE_${option.replace(/^--/, '').replaceAll('-', '_').toUpperCase()}`;

/** Adds the version prefix unless it is there. */
const baseUrlOf = (url: string): string => url.replace(/\/+$/, '').replace(/(\/v\d+)?$/, (found) => found || '/v1');

/** Reads what the command left in the environment. */
export const readGiven = (env: NodeJS.ProcessEnv = process.env): Given => {
  const url = env[variableOf('--url')];
  const kinds = Object.entries(accountOptions) as [AccountKind, string][];
  return {
    baseUrl: url ? baseUrlOf(url) : undefined,
    keys: Object.fromEntries(kinds.flatMap(([kind, option]) => [[kind, env[variableOf(option)]]])),
  };
};

/** Whether somebody's service is looked at instead of one of the file's own. */
export const isGiven = readGiven().baseUrl !== undefined;
