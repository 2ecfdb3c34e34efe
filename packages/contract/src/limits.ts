/** The limits of the specification. Units are in the names; an operator's settings may change each of them. */
export interface Limits {
  /** In one window of 60 seconds, over all keys of an account. */
  readonly requestsPerMinute: number;
  readonly creationsPerMinute: number;
  /** In one window, from one source address, before its key is looked at. */
  readonly sourceRequestsPerMinute: number;
  /** Provisioning and running at once, of one account. */
  readonly concurrentSandboxes: number;
  /** Not revoked, of one account. */
  readonly apiKeys: number;
  readonly defaultTimeoutMinutes: number;
  readonly maxTimeoutMinutes: number;
  readonly nameCharacters: number;
  readonly idempotencyKeyCharacters: number;
  readonly commandCharacters: number;
  readonly defaultCommandTimeoutMs: number;
  readonly minCommandTimeoutMs: number;
  readonly maxCommandTimeoutMs: number;
  /** Kept of each of stdout and stderr. */
  readonly captureBytes: number;
  /** Of a file read or written. */
  readonly fileBytes: number;
  readonly bodyBytes: number;
  /** Of a request to the file routes. */
  readonly fileBodyBytes: number;
  readonly defaultPageSize: number;
  readonly maxPageSize: number;
  readonly maxUsageDays: number;
}

/** The numbers of the specification. */
export const defaultLimits: Limits = Object.freeze({
  requestsPerMinute: 120,
  creationsPerMinute: 40,
  sourceRequestsPerMinute: 300,
  concurrentSandboxes: 20,
  apiKeys: 10,
  defaultTimeoutMinutes: 15,
  maxTimeoutMinutes: 1440,
  nameCharacters: 100,
  idempotencyKeyCharacters: 255,
  commandCharacters: 100_000,
  defaultCommandTimeoutMs: 60_000,
  minCommandTimeoutMs: 1_000,
  maxCommandTimeoutMs: 600_000,
  captureBytes: 1_048_576,
  fileBytes: 8_388_608,
  bodyBytes: 1_048_576,
  fileBodyBytes: 11_219_763,
  defaultPageSize: 20,
  maxPageSize: 100,
  maxUsageDays: 365,
});

/** The limits that an operator can also set for one account. */
export const accountLimitNames = [
  'requestsPerMinute',
  'creationsPerMinute',
  'concurrentSandboxes',
  'maxTimeoutMinutes',
  'apiKeys',
] as const;

export type AccountLimits = Pick<Limits, (typeof accountLimitNames)[number]>;

/** Where commands run and relative paths start. */
export const workspacePath = '/workspace';
