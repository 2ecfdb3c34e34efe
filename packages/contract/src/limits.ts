/** The numbers of the specification. Units are in the names; an operator's settings may lower or raise some of them later. */
export const limits = {
  bodyBytes: 1_048_576,
  nameCharacters: 100,
  idempotencyKeyCharacters: 255,
  defaultTimeoutMinutes: 15,
  maxTimeoutMinutes: 1440,
  commandCharacters: 100_000,
  defaultCommandTimeoutMs: 60_000,
  minCommandTimeoutMs: 1_000,
  maxCommandTimeoutMs: 600_000,
  /** Kept of each of stdout and stderr. */
  captureBytes: 1_048_576,
  defaultPageSize: 20,
  maxPageSize: 100,
} as const;

/** Where commands run and relative paths start. */
export const workspacePath = '/workspace';
