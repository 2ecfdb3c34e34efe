import { ApiError, MayflyError } from '../api/api-error.ts';
import { fromApi } from '../api/casing.ts';
import { ConnectionError, RequestTimeoutError, UnexpectedResponseError } from '../errors.ts';
import { type Call, type Connection, timesOf } from './connection.ts';
import { errorOf } from './read-error.ts';
import { decideRetry } from './retry.ts';
import { pause, startTimer } from './timer.ts';

/** The body of a response, with its status. */
export interface Answer {
  readonly status: number;
  /** JSON as the service sent it. */
  readonly body: unknown;
}

/** Makes a request and returns its body, as callers see it. Retries where that is safe; throws the last error. */
export async function request<Body>(connection: Connection, call: Call): Promise<Body> {
  return fromApi((await requestJson(connection, call)).body) as Body;
}

/** Makes a request and returns its body as the service sent it. */
export function requestJson(connection: Connection, call: Call): Promise<Answer> {
  return withRetries(connection, call, async (attempt) => {
    const response = await attempt.send();
    const text = await attempt.read(() => response.text());
    try {
      return { status: response.status, body: text === '' ? undefined : JSON.parse(text) };
    } catch (cause) {
      throw new UnexpectedResponseError('The response is not JSON. Check the base URL.', response.status, { cause });
    }
  });
}

/** Makes a request that removes something. If it was sent more than once, that there is nothing left to remove means success. */
export async function requestRemoval(connection: Connection, call: Omit<Call, 'method' | 'repeatable'>): Promise<void> {
  let mayBeGone = false;
  const onFailure = (error: unknown) => {
    mayBeGone ||= isUncertain(error);
  };
  try {
    await requestJson(connection, { ...call, method: 'DELETE', repeatable: true, onFailure });
  } catch (error) {
    if (!(mayBeGone && error instanceof ApiError && error.status === 404)) throw error;
  }
}

/** Whether the service may have carried out a request that failed in this way. */
export function isUncertain(error: unknown): boolean {
  if (error instanceof ConnectionError) return error.mayHaveHappened;
  return (
    (error instanceof UnexpectedResponseError || error instanceof ApiError) && [500, 502, 504].includes(error.status)
  );
}

/** Opens a stream of events. What `begin` reads of it belongs to the attempt, with its timeout and retries. */
export function requestStream<Begun>(
  connection: Connection,
  call: Call,
  begin: (response: Response) => Promise<Begun>,
): Promise<Begun> {
  const headers = { ...call.headers, accept: 'text/event-stream' };
  return withRetries(connection, { ...call, headers }, async (attempt) => {
    const response = await attempt.send();
    return attempt.read(() => begin(response));
  });
}

async function withRetries<Result>(
  connection: Connection,
  call: Call,
  work: (attempt: Attempt) => Promise<Result>,
): Promise<Result> {
  const { signal, repeatable } = call;
  const deadlineAtMs = Date.now() + timesOf(connection, call).deadlineMs;
  const { retryDelayMs } = connection;
  const maxRetries = call.maxRetries ?? connection.maxRetries;
  for (let retries = 0; ; ) {
    signal?.throwIfAborted();
    const attempt = new Attempt(connection, call, deadlineAtMs);
    try {
      return await work(attempt);
    } catch (error) {
      call.onFailure?.(error);
      signal?.throwIfAborted();
      const remainingMs = deadlineAtMs - Date.now();
      const random = Math.random();
      const retry = decideRetry(error, { repeatable, retries, maxRetries, retryDelayMs, remainingMs, random });
      if (retry === undefined) throw error;
      if (retry.counts) retries += 1;
      await pause(retry.pauseMs, signal);
    } finally {
      attempt.end();
    }
  }
}

/** One attempt of a call, with its timeout. */
class Attempt {
  readonly #connection: Connection;
  readonly #call: Call;
  readonly #abort = new AbortController();
  readonly #timeoutMs: number;
  readonly #timer: ReturnType<typeof setTimeout>;
  readonly #forward = () => this.#abort.abort(this.#call.signal?.reason);
  #timedOut = false;

  constructor(connection: Connection, call: Call, deadlineAtMs: number) {
    this.#connection = connection;
    this.#call = call;
    const remainingMs = Math.max(deadlineAtMs - Date.now(), 1);
    this.#timeoutMs = Math.min(timesOf(connection, call).requestTimeoutMs, remainingMs);
    this.#timer = startTimer(() => {
      this.#timedOut = true;
      this.#abort.abort();
    }, this.#timeoutMs);
    if (!call.finishesAttempts) call.signal?.addEventListener('abort', this.#forward, { once: true });
  }

  /** Sends the request and returns its response. Throws if that is an error. */
  async send(): Promise<Response> {
    const { method, body, headers } = this.#call;
    const response = await this.read(() =>
      this.#connection.fetch(this.#url(), {
        method,
        headers: {
          authorization: `Bearer ${this.#connection.apiKey}`,
          accept: 'application/json',
          ...(body !== undefined && { 'content-type': 'application/json' }),
          ...headers,
        },
        redirect: 'manual',
        signal: this.#abort.signal,
        ...(body !== undefined && { body: JSON.stringify(body) }),
      }),
    );
    if (!response.ok) throw await errorOf(response);
    return response;
  }

  /** Waits for something that ends with the attempt. Throws a ConnectionError if it fails. */
  async read<Result>(work: () => Promise<Result>): Promise<Result> {
    try {
      return await work();
    } catch (cause) {
      const { origin } = new URL(this.#connection.baseUrl);
      if (this.#timedOut) {
        const message = `${origin} did not respond within ${this.#timeoutMs} ms.`;
        throw new RequestTimeoutError(message, { cause, mayHaveHappened: true });
      }
      if (cause instanceof MayflyError) throw cause;
      const message = `The connection to ${origin} failed: ${reasonOf(cause).replace(/\.+$/, '')}. Check that the service is running and that the base URL is right.`;
      throw new ConnectionError(message, { cause, mayHaveHappened: !wasRefused(cause) });
    }
  }

  /** Ends the timeout. From here on, the reader of a stream watches the signal of the call. */
  end(): void {
    clearTimeout(this.#timer);
    this.#call.signal?.removeEventListener('abort', this.#forward);
  }

  #url(): string {
    const url = new URL(this.#connection.baseUrl + this.#call.path);
    for (const [name, value] of Object.entries(this.#call.query ?? {})) {
      if (value !== undefined) url.searchParams.set(name, String(value));
    }
    return url.href;
  }
}

/** Whether nobody listened, so that nothing was sent. Only Node.js, Bun and Deno can tell. */
function wasRefused(error: unknown): boolean {
  return /ECONNREFUSED|ConnectionRefused|connection refused/i.test(causesOf(error));
}

function reasonOf(error: unknown): string {
  return causesOf(error).split('\n').at(-1) ?? 'unknown';
}

/** The messages and codes of an error and its causes, outermost first. */
function causesOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const code = 'code' in error ? ` (${String(error.code)})` : '';
  const own = `${error.message || error.name}${code}`.replaceAll('\n', ' ');
  const inner = error instanceof AggregateError ? error.errors[0] : error.cause;
  return inner === undefined ? own : `${own}\n${causesOf(inner)}`;
}
