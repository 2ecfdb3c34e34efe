import { ApiError } from '../api/api-error.ts';
import { type ErrorType, errorTable } from '../api/error-classes.ts';
import { ConnectionError, UnexpectedResponseError } from '../errors.ts';

/** What a decision about a retry depends on. */
export interface RetryState {
  /** Whether the request may be sent again when it may have been carried out already. */
  readonly repeatable: boolean;
  /** How many retries there were, waits for a rate limit not counted. */
  readonly retries: number;
  readonly maxRetries: number;
  readonly retryDelayMs: number;
  /** Until the deadline of the call. */
  readonly remainingMs: number;
  /** From 0 up to 1. */
  readonly random: number;
}

export interface Retry {
  readonly pauseMs: number;
  /** Whether it counts among `maxRetries`. */
  readonly counts: boolean;
}

const longestPauseMs = 15_000;
/** After these nothing has happened, so that every request can be repeated. */
const harmless: ReadonlySet<string> = new Set<ErrorType>([
  'rate_limit_exceeded',
  'capacity_unavailable',
  'provisioning_failed',
  'request_error',
]);
/** Statuses of proxies that could not reach the service, or did not get a response in time. */
const proxyStatuses: ReadonlySet<number> = new Set([502, 503, 504]);

/** Decides whether a request that failed is repeated. Returns undefined if its error is final. */
export function decideRetry(error: unknown, state: RetryState): Retry | undefined {
  const mayRepeat = mayBeRepeated(error, state.repeatable);
  if (!mayRepeat) return undefined;
  const isRateLimit = error instanceof ApiError && error.type === 'rate_limit_exceeded';
  if (!isRateLimit && state.retries >= state.maxRetries) return undefined;
  // At least half of the pause, so that a crowd of clients neither comes at once nor again too soon.
  const backoffMs = Math.min(state.retryDelayMs * 2 ** state.retries, longestPauseMs) * (0.5 + state.random / 2);
  const askedMs = error instanceof ApiError ? error.retryAfterMs : undefined;
  const pauseMs = askedMs === undefined ? backoffMs : askedMs + state.retryDelayMs * state.random;
  return pauseMs < state.remainingMs ? { pauseMs, counts: !isRateLimit } : undefined;
}

/** Whether a request that failed in this way may succeed later. `repeatable` as in RetryState. */
export function mayBeRepeated(error: unknown, repeatable: boolean): boolean {
  if (error instanceof ApiError) {
    return categoryOf(error) === 'with_backoff' && (repeatable || harmless.has(error.type));
  }
  if (error instanceof ConnectionError) return repeatable || !error.mayHaveHappened;
  return repeatable && error instanceof UnexpectedResponseError && proxyStatuses.has(error.status);
}

interface Entry {
  readonly retry: string;
  /** The category of statuses that have another one. */
  readonly retryByStatus?: Readonly<Record<number, string>>;
}

/** The retry category of an error. Undefined if its type is not known. */
function categoryOf({ type, status }: ApiError): string | undefined {
  if (!Object.hasOwn(errorTable, type)) return undefined;
  const { retry, retryByStatus }: Entry = errorTable[type as ErrorType];
  return retryByStatus?.[status] ?? retry;
}
