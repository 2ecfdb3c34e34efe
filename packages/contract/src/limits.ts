/** The specification's limits that an operator can change. Units are in the names. */
export interface Limits {
  /** Per account, over all of its keys, in one 60-second window. */
  readonly requestsPerMinute: number;
  readonly creationsPerMinute: number;
  /** Per source address in one 60-second window, counted before the key is verified. */
  readonly sourceRequestsPerMinute: number;
  /** Sandboxes of one account that are provisioning or running. */
  readonly concurrentSandboxes: number;
  /** Active keys of one account. */
  readonly apiKeys: number;
  readonly defaultTimeoutMinutes: number;
  readonly maxTimeoutMinutes: number;
  readonly commandCharacters: number;
  readonly defaultCommandTimeoutMs: number;
  readonly maxCommandTimeoutMs: number;
  /** Captured output per stream (stdout, stderr). */
  readonly captureBytes: number;
  /** Output of finished commands that is kept for one account, in MiB. Beyond it, the oldest output is dropped. */
  readonly storedOutputMb: number;
  /** Snapshots of one account, those in progress included. */
  readonly snapshots: number;
  /** What the snapshots of one account may take on disk, in MiB, before another one is refused. */
  readonly snapshotStorageMb: number;
  /** Size of a file that is read or written. */
  readonly fileBytes: number;
  readonly bodyBytes: number;
  /** Request body of the file routes. */
  readonly fileBodyBytes: number;
  readonly defaultPageSize: number;
  readonly maxPageSize: number;
}

/** The values of the specification. */
export const defaultLimits: Limits = Object.freeze({
  requestsPerMinute: 120,
  creationsPerMinute: 40,
  sourceRequestsPerMinute: 300,
  concurrentSandboxes: 20,
  apiKeys: 10,
  defaultTimeoutMinutes: 15,
  maxTimeoutMinutes: 1440,
  commandCharacters: 100_000,
  defaultCommandTimeoutMs: 60_000,
  maxCommandTimeoutMs: 600_000,
  captureBytes: 1_048_576,
  storedOutputMb: 1_024,
  snapshots: 20,
  snapshotStorageMb: 102_400,
  fileBytes: 8_388_608,
  bodyBytes: 1_048_576,
  fileBodyBytes: 11_219_763,
  defaultPageSize: 20,
  maxPageSize: 100,
});

/** The limits that have a `MAYFLY_LIMIT_…` setting: those in the specification's table, and the quotas of stored output and snapshots. */
export const operatorLimitKeys = Object.keys(defaultLimits) as readonly (keyof Limits)[];

/** Bounds of single fields, which are part of the interface and cannot be configured. */
export const fixedLimits = Object.freeze({
  nameCharacters: 100,
  aliasCharacters: 100,
  idempotencyKeyCharacters: 255,
  minCommandTimeoutMs: 1_000,
  maxUsageDays: 365,
  /** Output of a live command that is kept in its sandbox for readers that come back. */
  spoolBytes: 67_108_864,
  backgroundCommandsPerSandbox: 64,
  streamsPerSandbox: 32,
  streamsPerAccount: 100,
  /** Tickets that were not used yet. */
  ticketsPerAccount: 100,
  /** How long a ticket works. */
  ticketSeconds: 60,
  /** Terminals that are open, with or without a client. */
  terminalsPerSandbox: 16,
  terminalsPerAccount: 64,
  terminalCols: 500,
  terminalRows: 200,
  /** One message of a terminal's client. */
  terminalMessageBytes: 262_144,
});

/** How many copies one fork may make. */
export const maxForkCount = 20;

/** The limits that an operator can also set for a single account. */
export const accountLimitNames = [
  'requestsPerMinute',
  'creationsPerMinute',
  'concurrentSandboxes',
  'maxTimeoutMinutes',
  'apiKeys',
  'storedOutputMb',
  'snapshots',
  'snapshotStorageMb',
] as const;

export type AccountLimits = Pick<Limits, (typeof accountLimitNames)[number]>;

/** The working directory of commands and the base of relative file paths. */
export const workspacePath = '/workspace';

const byteUnits = [
  ['GiB', 1024 ** 3],
  ['MiB', 1024 ** 2],
  ['KiB', 1024],
] as const;

/** Formats a size with a binary unit and at most one decimal, e.g. `10.7 MiB`. */
export function formatBytes(count: number): string {
  const [unit, size] = byteUnits.find(([, least]) => count >= least) ?? ['bytes', 1];
  return `${(Math.round((count / size) * 10) / 10).toLocaleString('en-US')} ${unit}`;
}
