import { noteAnswer, noteLostConnection } from './connection.ts';
import { failureOf, RequestFailure } from './failure.ts';
import { noteServerDate } from './server-clock.ts';

export interface RequestOptions {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Sent as JSON. */
  readonly body?: unknown;
  readonly signal?: AbortSignal;
  readonly timeoutMs?: number;
  /** Makes a repeated create return what the first one made. */
  readonly idempotencyKey?: string;
}

const prefix = '/app/api';
const defaultTimeoutMs = 20_000;

/** Returns the body of the service's answer to a request below /app/api. Throws RequestFailure, or the reason of the signal. */
export async function request<Answer>(path: string, options: RequestOptions = {}): Promise<Answer> {
  const { method = 'GET', body, signal, timeoutMs = defaultTimeoutMs, idempotencyKey } = options;
  const timeout = AbortSignal.timeout(timeoutMs);
  try {
    const response = await fetch(`${prefix}${path}`, {
      method,
      signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
      credentials: 'same-origin',
      cache: 'no-store',
      headers: {
        accept: 'application/json',
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const answer = await readJson(response);
    noteServerDate(response.headers.get('date'));
    if (!response.ok || answer === undefined) throw failureOf(response.status, response.headers, answer);
    noteAnswer();
    return answer as Answer;
  } catch (error) {
    signal?.throwIfAborted();
    throw noted(asFailure(error, timeout, timeoutMs));
  }
}

/** The body, or undefined if it is not JSON, as a page of a proxy. */
async function readJson(response: Response): Promise<unknown> {
  const text = await response.text();
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function asFailure(error: unknown, timeout: AbortSignal, timeoutMs: number): RequestFailure {
  if (error instanceof RequestFailure) return error;
  if (timeout.aborted) {
    const seconds = Math.round(timeoutMs / 1000);
    return new RequestFailure('timed_out', `The service did not answer within ${seconds} seconds. Try again.`, {
      cause: error,
    });
  }
  return new RequestFailure(
    'connection_lost',
    'The service cannot be reached. Check your connection, then try again.',
    {
      cause: error,
    },
  );
}

/** Tells the notice about the connection, and returns the failure. */
function noted(failure: RequestFailure): RequestFailure {
  if (failure.isConnection) noteLostConnection();
  else noteAnswer();
  return failure;
}
