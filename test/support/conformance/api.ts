import type { IncomingHttpHeaders } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Execution, Sandbox } from '@mayfly/contract';
import { checkResponse } from '@mayfly/contract/testing';
import { expect } from 'vitest';
import { type CheckedResponse, findProblems } from './check-response.ts';
import { isExternal } from './external-service.ts';
import { type HttpRequest, sendRequest } from './http-client.ts';
import { RatePacer } from './rate-pacer.ts';

export interface ApiResponse<Body> {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Body;
  /** The body as it was sent. */
  readonly text: string;
  /** Of an error. */
  readonly type: string | undefined;
  /** Of an error; otherwise empty. */
  readonly message: string;
}

export interface CallOptions extends Pick<HttpRequest, 'deadlineMs' | 'signal' | 'localAddress'> {
  readonly headers?: Readonly<Record<string, string | string[]>>;
  /** Sent unchanged, instead of a JSON body. */
  readonly raw?: HttpRequest['body'];
  /** Replaces the key of the account; null sends no credential. */
  readonly authorization?: string | null;
  /** False sends the request at once, even beyond the rate limits. Default: true. */
  readonly paced?: boolean;
}

/** By service and key: all clients with the same key share a pacer. */
const pacers = new Map<string, RatePacer>();

/** A client of the API with one key. Checks every response against the specification and remembers the sandboxes it created. */
export class Api {
  readonly baseUrl: string;
  readonly key: string;
  readonly #pacer: RatePacer;
  readonly #localAddress: string | undefined;
  readonly #sandboxes = new Set<string>();

  constructor(baseUrl: string, key: string, localAddress?: string) {
    this.baseUrl = baseUrl;
    this.key = key;
    this.#localAddress = localAddress;
    const account = `${baseUrl} ${key}`;
    this.#pacer = pacers.get(account) ?? new RatePacer();
    pacers.set(account, this.#pacer);
  }

  get<Body = unknown>(path: string, options?: CallOptions): Promise<ApiResponse<Body>> {
    return this.call('GET', path, undefined, options);
  }

  post<Body = unknown>(path: string, body?: unknown, options?: CallOptions): Promise<ApiResponse<Body>> {
    return this.call('POST', path, body, options);
  }

  put<Body = unknown>(path: string, body?: unknown, options?: CallOptions): Promise<ApiResponse<Body>> {
    return this.call('PUT', path, body, options);
  }

  delete<Body = unknown>(path: string, options?: CallOptions): Promise<ApiResponse<Body>> {
    return this.call('DELETE', path, undefined, options);
  }

  /** Sends one request, as soon as the rate limits of the account permit it. */
  async call<Body>(
    method: string,
    path: string,
    body?: unknown,
    options: CallOptions = {},
  ): Promise<ApiResponse<Body>> {
    const { headers = {}, raw, authorization = `Bearer ${this.key}`, paced = true, ...rest } = options;
    const isCreation = method === 'POST' && path === '/sandboxes';
    await this.#pacer.begin(isCreation, paced);
    let ownHeaders: IncomingHttpHeaders | undefined;
    try {
      const response = await sendRequest({
        method,
        url: `${this.baseUrl}${path}`,
        headers: {
          ...(authorization === null ? {} : { authorization }),
          ...(body === undefined && raw === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        body: raw ?? (body === undefined ? undefined : JSON.stringify(body)),
        localAddress: this.#localAddress,
        ...rest,
      });
      if (authorization?.endsWith(this.key)) ownHeaders = response.headers;
      this.#check({ method, path, ...response });
      const { status, text } = response;
      const isEvents = response.headers['content-type']?.startsWith('text/event-stream') === true;
      const parsed = text === '' || isEvents ? undefined : (JSON.parse(text) as Body);
      this.#remember(method, path, status, parsed);
      const error = status >= 400 ? (parsed as { error: { type: string; message: string } }).error : undefined;
      if (paced && error?.type === 'rate_limit_exceeded')
        return await this.#retry(response.headers, method, path, body, options);
      const { type, message = '' } = error ?? {};
      return { status, headers: response.headers, body: parsed as Body, text, type, message };
    } finally {
      this.#pacer.end(ownHeaders);
    }
  }

  /** Creates a sandbox and expects it to be running. */
  async create(body: unknown = {}, options?: CallOptions): Promise<Sandbox> {
    return expectStatus(await this.post<Sandbox>('/sandboxes', body, options), 201);
  }

  /** Runs a command and expects an execution, with any exit code. */
  async exec(
    id: string,
    command: string,
    more: Record<string, unknown> = {},
    options?: CallOptions,
  ): Promise<Execution> {
    return expectStatus(await this.post<Execution>(`/sandboxes/${id}/exec`, { command, ...more }, options), 200);
  }

  /** Runs a command that must succeed and returns its trimmed output. */
  async output(id: string, command: string, more: Record<string, unknown> = {}): Promise<string> {
    const { exit_code, stdout, stderr } = await this.exec(id, command, more);
    expect(exit_code, `${command}\n${stdout}\n${stderr}`).toBe(0);
    return stdout.trim();
  }

  /** Gets a sandbox. */
  async sandbox(id: string): Promise<Sandbox> {
    return expectStatus(await this.get<Sandbox>(`/sandboxes/${id}`), 200);
  }

  /** Deletes every sandbox that was created through this client. */
  async release(): Promise<void> {
    await Promise.all(Array.from(this.#sandboxes, (id) => this.delete(`/sandboxes/${id}`)));
  }

  #check(response: CheckedResponse): void {
    const { method, path, status, headers, text } = response;
    // Mayfly is checked against its own OpenAPI document as well.
    const published = isExternal ? [] : checkResponse({ method, path: `/v1${path}`, status, headers, body: text });
    const problems = [...findProblems(response), ...published];
    if (problems.length === 0) return;
    throw new Error(`${method} ${path.slice(0, 200)}: ${problems.join('; ')}\n${status} ${text.slice(0, 1000)}`);
  }

  #remember(method: string, path: string, status: number, body: unknown): void {
    if (status >= 300) return;
    if (method === 'POST' && path === '/sandboxes') this.#sandboxes.add((body as Sandbox).id);
    if (method === 'DELETE') this.#sandboxes.delete(path.slice('/sandboxes/'.length));
  }

  /** Repeats a request after another client has used up the window. A request that is refused for its rate has no effect. */
  async #retry<Body>(headers: IncomingHttpHeaders, ...call: Parameters<Api['call']>): Promise<ApiResponse<Body>> {
    await sleep((Number(headers['retry-after']) + 1) * 1000);
    return await this.call<Body>(...call);
  }
}

/** Expects the status and returns the body. */
export function expectStatus<Body>(response: ApiResponse<Body>, status: number): Body {
  if (response.status !== status)
    expect.fail(`${response.status} instead of ${status}: ${JSON.stringify(response.body)}`);
  return response.body;
}

/** Expects an error with this status and type and returns its message. */
export function expectError(response: ApiResponse<unknown>, status: number, type: string): string {
  if (response.status !== status || response.type !== type) {
    expect.fail(
      `${response.status} ${response.type} instead of ${status} ${type}: ${JSON.stringify(response.body).slice(0, 2000)}`,
    );
  }
  return response.message;
}
