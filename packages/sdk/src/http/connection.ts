/** How requests are made. All times are in milliseconds. */
export interface RequestSettings {
  /** How long one attempt may wait for its response. */
  readonly requestTimeoutMs: number;
  /** How long a call may take in all, with its retries and pauses. */
  readonly deadlineMs: number;
  /** How often a request is repeated after a failure. Waiting for a rate limit does not count. */
  readonly maxRetries: number;
  /** The first pause before a retry. It doubles with each one. */
  readonly retryDelayMs: number;
}

/** Where requests go, and with which key. */
export interface Connection extends RequestSettings {
  /** Ends with the version prefix, without a slash. */
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly fetch: typeof globalThis.fetch;
}

/** What every method that makes a request accepts. */
export interface RequestOptions {
  /** Ends the call with the reason of the signal. */
  readonly signal?: AbortSignal | undefined;
  /** How long one attempt may wait for its response. */
  readonly requestTimeoutMs?: number | undefined;
  /** How long the call may take in all, with its retries and pauses. */
  readonly deadlineMs?: number | undefined;
  /** How often the request is repeated after a failure. */
  readonly maxRetries?: number | undefined;
}

/** One request to the API. */
export interface Call extends RequestOptions {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Below the version prefix. Ids are encoded by `path`. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>;
  /** Sent as JSON, in the casing of the API. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Whether the request may be sent again when it may have been carried out already. */
  readonly repeatable: boolean;
  /** Called with the error of every attempt that fails. */
  readonly onFailure?: (error: unknown) => void;
  /** Lets an attempt that was sent come to its end when the signal aborts, so that its outcome is known. */
  readonly finishesAttempts?: boolean;
}

/** Times for calls that wait for a machine: creates, snapshots, forks and rollbacks. */
export const slowCall = { requestTimeoutMs: 290_000, deadlineMs: 600_000 } as const;

/** Builds a path with encoded parts: path\`/sandboxes/${id}\`. */
export function path(texts: TemplateStringsArray, ...parts: readonly (string | number)[]): string {
  return texts.reduce((built, text, index) => `${built}${encodeURIComponent(parts[index - 1] ?? '')}${text}`);
}
