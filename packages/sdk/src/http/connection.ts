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
  /** How long a stream that was cut is reopened without progress before the call fails. */
  readonly reconnectMs: number;
}

/** Where requests go, and with which key. */
export interface Connection extends Omit<RequestSettings, 'requestTimeoutMs' | 'deadlineMs'> {
  /** As configured for the client. Undefined if it was not: the default depends on the call. */
  readonly requestTimeoutMs: number | undefined;
  /** As configured for the client. Undefined if it was not: the default depends on the call. */
  readonly deadlineMs: number | undefined;
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
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>> | undefined;
  /** Sent as JSON, in the casing of the API. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Whether the request may be sent again when it may have been carried out already. */
  readonly repeatable: boolean;
  /** Called with the error of every attempt that fails. */
  readonly onFailure?: (error: unknown) => void;
  /** Lets an attempt that was sent come to its end when the signal aborts, so that its outcome is known. */
  readonly finishesAttempts?: boolean;
  /** Whether it waits for a machine, as creates, snapshots, forks and rollbacks do. Its default times are longer. */
  readonly slow?: boolean;
}

type Times = Pick<RequestSettings, 'requestTimeoutMs' | 'deadlineMs'>;

export const defaultTimes: Times = { requestTimeoutMs: 60_000, deadlineMs: 300_000 };
export const slowTimes: Times = { requestTimeoutMs: 290_000, deadlineMs: 600_000 };

/** The times of a call: its own, else the client's, else the defaults. */
export function timesOf(connection: Connection, call: Pick<Call, 'requestTimeoutMs' | 'deadlineMs' | 'slow'>): Times {
  const defaults = call.slow ? slowTimes : defaultTimes;
  return {
    requestTimeoutMs: call.requestTimeoutMs ?? connection.requestTimeoutMs ?? defaults.requestTimeoutMs,
    deadlineMs: call.deadlineMs ?? connection.deadlineMs ?? defaults.deadlineMs,
  };
}

/** Builds a path with encoded parts: path\`/sandboxes/${id}\`. */
export function path(texts: TemplateStringsArray, ...parts: readonly (string | number)[]): string {
  return texts.reduce((built, text, index) => `${built}${encodeURIComponent(parts[index - 1] ?? '')}${text}`);
}
