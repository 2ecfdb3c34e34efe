import { randomUUID } from 'node:crypto';
import { type RequestOptions as HttpOptions, request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  deletedSnapshotSchema,
  type ErrorType,
  type Execution,
  errorBodySchema,
  executionSchema,
  type Sandbox,
  type Snapshot,
  sandboxSchema,
  snapshotListSchema,
  snapshotSchema,
  writtenFileSchema,
} from '@mayfly/contract';
import { z } from 'zod';
import { Failure } from '../../cli-io.ts';

/** The service refused a request or could not be reached. */
export class ApiError extends Failure {
  /** Undefined if there was no answer, or not one of this API. */
  declare readonly type: ErrorType | undefined;

  constructor(message: string, type?: ErrorType, options: ErrorOptions = {}) {
    super(message, { ...options, exitCode: 3, type });
    this.name = 'ApiError';
  }
}

export interface ApiOptions {
  readonly url: URL;
  readonly key: string;
  /** The first pause before a request is repeated. It doubles with every attempt. */
  readonly backoffMs?: number;
}

export interface CommandRequest {
  readonly command: string;
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
}

interface Call {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly path: string;
  readonly body?: unknown;
  readonly timeoutMs?: number;
  /** Whether the request may be sent again after it may have been carried out. */
  readonly repeatable: boolean;
  /** Sends an Idempotency-Key, which makes a create repeatable. */
  readonly once?: boolean;
  /** Whether the service may need a minute, and the same key, to clean up after an attempt that was interrupted. */
  readonly patient?: boolean;
}

interface Answer {
  readonly status: number;
  readonly retryAfterSeconds: number;
  readonly body: string;
}

const maxAttempts = 5;
/** With pauses that double from half a second, these take a minute. */
const maxPatientAttempts = 8;
const maxRateWaits = 30;
const maxResponseBytes = 64 * 1024 ** 2;
const slowTimeoutMs = 600_000;

/** The few operations of the API that a build needs. Requests are repeated where that is safe. */
export class ApiClient {
  readonly #options: ApiOptions;
  readonly #signal: AbortSignal;

  /** Aborting the signal ends requests and waits with its reason. */
  constructor(options: ApiOptions, signal: AbortSignal) {
    this.#options = options;
    this.#signal = signal;
  }

  /** The same client with another signal. */
  withSignal(signal: AbortSignal): ApiClient {
    return new ApiClient(this.#options, signal);
  }

  /** All snapshots of the account, newest first. */
  async listSnapshots(): Promise<Snapshot[]> {
    const found: Snapshot[] = [];
    let cursor: string | null = null;
    do {
      const query = new URLSearchParams({ limit: '100', ...(cursor !== null && { starting_after: cursor }) });
      const page: z.infer<typeof snapshotListSchema> = await this.#call(snapshotListSchema, {
        method: 'GET',
        path: `/snapshots?${query.toString()}`,
        repeatable: true,
      });
      found.push(...page.data);
      cursor = page.has_more ? page.next_cursor : null;
    } while (cursor !== null);
    return found;
  }

  /** Creates a sandbox of a size or from a snapshot. */
  createSandbox(
    origin: { readonly size: string } | { readonly snapshot_id: string },
    options: { readonly name: string; readonly timeout_minutes: number },
  ): Promise<Sandbox> {
    const body = { ...origin, ...options };
    const path = '/sandboxes';
    return this.#call(sandboxSchema, {
      method: 'POST',
      path,
      body,
      timeoutMs: slowTimeoutMs,
      repeatable: true,
      once: true,
    });
  }

  /** Runs a command to its end. It is sent once. */
  runCommand(sandboxId: string, { command, cwd, env, timeoutMs }: CommandRequest): Promise<Execution> {
    return this.#call(executionSchema, {
      method: 'POST',
      path: `/sandboxes/${sandboxId}/exec`,
      body: { command, ...(cwd !== undefined && { cwd }), ...(env && { env }), timeout_ms: timeoutMs },
      timeoutMs: timeoutMs + 120_000,
      repeatable: false,
    });
  }

  async writeFile(sandboxId: string, path: string, content: Buffer): Promise<void> {
    const body = { path, content: content.toString('base64'), encoding: 'base64' };
    await this.#call(writtenFileSchema, {
      method: 'PUT',
      path: `/sandboxes/${sandboxId}/files`,
      body,
      timeoutMs: slowTimeoutMs,
      repeatable: true,
    });
  }

  /** Saves a sandbox; resolves when the snapshot is ready. */
  async takeSnapshot(sandboxId: string, body: { readonly name: string; readonly alias?: string }): Promise<Snapshot> {
    const path = `/sandboxes/${sandboxId}/snapshots`;
    const snapshot = await this.#call(snapshotSchema, {
      method: 'POST',
      path,
      body,
      timeoutMs: slowTimeoutMs,
      repeatable: true,
      once: true,
      patient: true,
    });
    if (snapshot.status === 'ready') return snapshot;
    throw new ApiError(`Snapshot ${snapshot.id} is not ready (status: ${snapshot.status}). Build again in a minute.`);
  }

  /** Deletes a snapshot. One that is gone already is no error. */
  async deleteSnapshot(id: string): Promise<void> {
    await this.#delete(deletedSnapshotSchema, `/snapshots/${id}`);
  }

  /** Deletes a sandbox. One that is gone already is no error. */
  async deleteSandbox(id: string): Promise<void> {
    await this.#delete(z.object({ id: z.string() }), `/sandboxes/${id}`);
  }

  async #delete(schema: z.ZodType, path: string): Promise<void> {
    try {
      await this.#call(schema, { method: 'DELETE', path, repeatable: true });
    } catch (error) {
      if (!(error instanceof ApiError && error.type === 'not_found')) throw error;
    }
  }

  async #call<Schema extends z.ZodType>(schema: Schema, call: Call): Promise<z.output<Schema>> {
    let idempotencyKey = randomUUID();
    let attempt = 0;
    let rateWaits = 0;
    for (;;) {
      const outcome = await this.#send(call, idempotencyKey).catch((cause: unknown) => this.#noAnswer(cause, call));
      if (!(outcome instanceof ApiError) && outcome.status < 300) return parseAnswer(schema, outcome.body);
      const error = outcome instanceof ApiError ? outcome : errorOf(outcome);
      let pauseMs = (this.#options.backoffMs ?? 500) * 2 ** attempt;
      if (error.type === 'rate_limit_exceeded' && !(outcome instanceof ApiError)) {
        if (++rateWaits > maxRateWaits) throw error;
        pauseMs = outcome.retryAfterSeconds * 1000;
      } else {
        if (!mayRepeat(call, error) || ++attempt >= (call.patient ? maxPatientAttempts : maxAttempts)) throw error;
        // The failed create is remembered under its key.
        if (error.type === 'provisioning_failed' && !call.patient) idempotencyKey = randomUUID();
      }
      await sleep(pauseMs, undefined, { signal: this.#signal }).catch(() => this.#signal.throwIfAborted());
    }
  }

  #noAnswer(cause: unknown, { repeatable }: Call): ApiError {
    this.#signal.throwIfAborted();
    const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
    const reason = cause instanceof Error ? cause.message : String(cause);
    const { origin } = this.#options.url;
    if (code === 'ECONNREFUSED') {
      return new NotSent(
        `Nothing listens on ${origin}. Start the service, or pass its address with --url or MAYFLY_URL.`,
      );
    }
    const outcome = repeatable ? '' : ' The command may or may not have run.';
    return new ApiError(`The request to ${origin} failed: ${reason || String(code)}.${outcome}`, undefined, { cause });
  }

  // node:http rather than fetch, which gives up after five minutes without response headers. A step may take longer.
  async #send({ method, path, body, timeoutMs = 60_000, once }: Call, idempotencyKey: string): Promise<Answer> {
    const { url, key } = this.#options;
    this.#signal.throwIfAborted();
    const payload = body === undefined ? undefined : Buffer.from(JSON.stringify(body));
    const options: HttpOptions = {
      method,
      headers: {
        authorization: `Bearer ${key}`,
        accept: 'application/json',
        ...(payload && { 'content-type': 'application/json', 'content-length': payload.length }),
        ...(once && { 'idempotency-key': idempotencyKey }),
      },
      agent: false,
      signal: AbortSignal.any([this.#signal, AbortSignal.timeout(timeoutMs)]),
    };
    const target = new URL(`${url.pathname.replace(/\/$/, '')}/v1${path}`, url);
    const send = url.protocol === 'https:' ? httpsRequest : httpRequest;
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      send(target, options, resolve).once('error', reject).end(payload);
    });
    const retryAfter = Number(response.headers['retry-after'] ?? 5);
    return {
      status: response.statusCode ?? 0,
      retryAfterSeconds: Number.isFinite(retryAfter) ? Math.min(Math.max(retryAfter, 0), 120) : 5,
      body: await readBody(response),
    };
  }
}

/** The connection was refused, so the request did not reach the service. */
class NotSent extends ApiError {}

function mayRepeat(call: Call, error: ApiError): boolean {
  if (error instanceof NotSent) return true;
  if (!call.repeatable) return false;
  const { type } = error;
  if (type === undefined) return !(error instanceof UnexpectedAnswer);
  return ['provisioning_failed', 'capacity_unavailable', 'internal_error', 'execution_failed'].includes(type);
}

/** An answer that is not of this API, for example of a proxy. */
class UnexpectedAnswer extends ApiError {}

async function readBody(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > maxResponseBytes) throw new Error('the response is too large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

function parseJson(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

function parseAnswer<Schema extends z.ZodType>(schema: Schema, body: string): z.output<Schema> {
  const { success, data, error } = schema.safeParse(parseJson(body));
  if (success) return data;
  throw new UnexpectedAnswer(
    'The service gave an answer that this version of the command does not know. Use the command of the same version as the service.',
    undefined,
    { cause: error },
  );
}

function errorOf({ status, body }: Answer): ApiError {
  const { success, data } = errorBodySchema.safeParse(parseJson(body));
  if (!success) return new UnexpectedAnswer(`The service answered with status ${status}. Check the address.`);
  const { error, request_id } = data;
  return new ApiError(`${error.message.replace(/\.?$/, '.')} (${error.type}, request ${request_id})`, error.type);
}
