import type { IncomingHttpHeaders } from 'node:http';
import { setTimeout as passes } from 'node:timers/promises';
import { checkAnswer } from '@mayfly/contract/testing';
import { expect } from 'vitest';
import type { ExecutionBody, SandboxBody } from './bodies.ts';
import { type CheckedAnswer, findProblems } from './check-answer.ts';
import { exchange, type Outgoing } from './exchange.ts';
import { isGiven } from './given.ts';
import { Pace } from './pace.ts';

export interface Answer<Body> {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Body;
  /** The type and message of an error. */
  readonly type: string | undefined;
  readonly message: string;
}

export interface CallOptions extends Pick<Outgoing, 'deadlineMs' | 'signal' | 'localAddress'> {
  readonly headers?: Readonly<Record<string, string | string[]>>;
  /** Sent as it is instead of a JSON body. */
  readonly raw?: Outgoing['body'];
  /** Another credential; null for none. */
  readonly authorization?: string | null;
  /** False to run into the limits. */
  readonly paced?: boolean;
}

/** The paces of all accounts of this file, by service and key: several clients of a key share one. */
const paces = new Map<string, Pace>();
const paceOf = (name: string): Pace => paces.get(name) ?? paces.set(name, new Pace()).get(name) ?? new Pace();

/** The interface as one account sees it. Every answer is checked; sandboxes are remembered so that none is left. */
export class Api {
  readonly baseUrl: string;
  readonly key: string;
  readonly #pace: Pace;
  readonly #localAddress: string | undefined;
  readonly #sandboxes = new Set<string>();

  constructor(baseUrl: string, key: string, localAddress?: string) {
    this.baseUrl = baseUrl;
    this.key = key;
    this.#localAddress = localAddress;
    this.#pace = paceOf(`${baseUrl} ${key}`);
  }

  get<Body = unknown>(path: string, options?: CallOptions): Promise<Answer<Body>> {
    return this.call('GET', path, undefined, options);
  }

  post<Body = unknown>(path: string, body?: unknown, options?: CallOptions): Promise<Answer<Body>> {
    return this.call('POST', path, body, options);
  }

  put<Body = unknown>(path: string, body?: unknown, options?: CallOptions): Promise<Answer<Body>> {
    return this.call('PUT', path, body, options);
  }

  delete<Body = unknown>(path: string, options?: CallOptions): Promise<Answer<Body>> {
    return this.call('DELETE', path, undefined, options);
  }

  /** One call, held back until it fits the account's windows. */
  async call<Body>(method: string, path: string, body?: unknown, options: CallOptions = {}): Promise<Answer<Body>> {
    const { headers = {}, raw, authorization = `Bearer ${this.key}`, paced = true, ...rest } = options;
    const isCreation = method === 'POST' && path === '/sandboxes';
    await this.#pace.before(isCreation, paced);
    let answered: IncomingHttpHeaders | undefined;
    try {
      const { status, text, ...got } = await exchange({
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
      if (authorization?.endsWith(this.key)) answered = got.headers;
      this.#check({ method, path, status, headers: got.headers, text });
      const parsed = text === '' ? undefined : (JSON.parse(text) as Body);
      this.#remember(method, path, status, parsed);
      const error = status >= 400 ? (parsed as { error: { type: string; message: string } }).error : undefined;
      if (paced && error?.type === 'rate_limit_exceeded')
        return await this.#again(got.headers, method, path, body, options);
      return { status, headers: got.headers, body: parsed as Body, type: error?.type, message: error?.message ?? '' };
    } finally {
      this.#pace.after(answered);
    }
  }

  /** Creates a sandbox that runs. */
  async create(body: unknown = {}, options?: CallOptions): Promise<SandboxBody> {
    return expectStatus(await this.post<SandboxBody>('/sandboxes', body, options), 201);
  }

  /** Runs a command that ends by itself, whatever its exit code. */
  async exec(
    id: string,
    command: string,
    more: Record<string, unknown> = {},
    options?: CallOptions,
  ): Promise<ExecutionBody> {
    return expectStatus(await this.post<ExecutionBody>(`/sandboxes/${id}/exec`, { command, ...more }, options), 200);
  }

  /** The trimmed output of a command that must succeed. */
  async output(id: string, command: string, more: Record<string, unknown> = {}): Promise<string> {
    const { exit_code, stdout, stderr } = await this.exec(id, command, more);
    expect(exit_code, `${command}\n${stdout}\n${stderr}`).toBe(0);
    return stdout.trim();
  }

  /** The sandbox as it is now. */
  async sandbox(id: string): Promise<SandboxBody> {
    return expectStatus(await this.get<SandboxBody>(`/sandboxes/${id}`), 200);
  }

  /** Deletes every sandbox that was made through this client. */
  async release(): Promise<void> {
    await Promise.all(Array.from(this.#sandboxes, (id) => this.delete(`/sandboxes/${id}`)));
  }

  #check(answer: CheckedAnswer): void {
    const { text: body, path: below, ...rest } = answer;
    // Mayfly is held against its published description, too.
    const published = isGiven ? [] : checkAnswer({ ...rest, path: `/v1${below}`, body });
    const problems = [...findProblems(answer), ...published];
    if (problems.length === 0) return;
    const { method, path, status, text } = answer;
    throw new Error(`${method} ${path.slice(0, 200)}: ${problems.join('; ')}\n${status} ${text.slice(0, 1000)}`);
  }

  #remember(method: string, path: string, status: number, body: unknown): void {
    if (status >= 300) return;
    if (method === 'POST' && path === '/sandboxes') this.#sandboxes.add((body as SandboxBody).id);
    if (method === 'DELETE') this.#sandboxes.delete(path.slice('/sandboxes/'.length));
  }

  /** Somebody else used the window up; the refused call had no effect. */
  async #again<Body>(headers: IncomingHttpHeaders, ...call: Parameters<Api['call']>): Promise<Answer<Body>> {
    await passes((Number(headers['retry-after']) + 1) * 1000);
    return await this.call<Body>(...call);
  }
}

/** The body of an answer that must have this status. */
export const expectStatus = <Body>(answer: Answer<Body>, status: number): Body => {
  if (answer.status !== status) expect.fail(`${answer.status} instead of ${status}: ${JSON.stringify(answer.body)}`);
  return answer.body;
};

/** Expects the error of a row of the error table; gives the message. */
export const expectError = (answer: Answer<unknown>, status: number, type: string): string => {
  if (answer.status !== status || answer.type !== type) {
    expect.fail(
      `${answer.status} ${answer.type} instead of ${status} ${type}: ${JSON.stringify(answer.body).slice(0, 2000)}`,
    );
  }
  return answer.message;
};
