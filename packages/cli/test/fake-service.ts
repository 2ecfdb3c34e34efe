import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { ErrorType, Execution, Sandbox, Snapshot } from '@mayfly/contract';

/** What a fake command does. */
export interface CommandResult {
  readonly exitCode?: number;
  readonly stdout?: string;
  readonly status?: Execution['status'];
}

export interface ReceivedCommand {
  readonly command: string;
  readonly cwd?: string;
  readonly env?: Record<string, string>;
  readonly timeout_ms: number;
}

interface FakeSandbox {
  readonly id: string;
  /** What was done in it and in the snapshots that it comes from. */
  readonly history: string[];
  deleted: boolean;
}

interface FakeSnapshot extends Snapshot {
  readonly history: readonly string[];
}

interface Problem {
  readonly status: number;
  readonly type: ErrorType;
  readonly message?: string;
}

/** The routes that a build uses, in memory. A sandbox is the list of what was done in it. */
export class FakeService implements AsyncDisposable {
  readonly key = 'mf_test';
  readonly sandboxes: FakeSandbox[] = [];
  /** Newest first. */
  snapshots: FakeSnapshot[] = [];
  readonly commands: ReceivedCommand[] = [];
  readonly requests: string[] = [];
  /** The Idempotency-Keys of all requests that had one. */
  readonly keys: string[] = [];
  maxSnapshots = 20;
  /** The status of the snapshots that are taken. */
  snapshotStatus: Snapshot['status'] = 'ready';
  /** Decides what commands do. Everything succeeds unless it says otherwise. */
  onCommand: (request: ReceivedCommand) => CommandResult | Promise<CommandResult> = () => ({});
  /** Fails a request instead of serving it, or disconnects after serving it. */
  onRequest: (method: string, path: string, body: Record<string, unknown>) => Problem | 'disconnect' | undefined = () =>
    undefined;
  readonly #server = createServer((request, response) => void this.#serve(request, response));
  readonly #created = new Map<string, unknown>();
  #nextId = 1;
  #areStreamsLost = false;

  static async start(): Promise<FakeService> {
    const service = new FakeService();
    await new Promise<void>((resolve) => service.#server.listen(0, '127.0.0.1', resolve));
    return service;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** The snapshot that a create with this template would use. */
  template(alias: string): FakeSnapshot | undefined {
    return this.snapshots.find((snapshot) => snapshot.alias === alias);
  }

  /** The sandboxes that a build forgot to delete. */
  get leftSandboxes(): FakeSandbox[] {
    return this.sandboxes.filter(({ deleted }) => !deleted);
  }

  addSnapshot(fields: Partial<FakeSnapshot>): FakeSnapshot {
    const snapshot: FakeSnapshot = {
      object: 'snapshot',
      id: `snap_${this.#nextId++}`,
      name: null,
      alias: null,
      sandbox_id: 'sbx_0',
      size: 'small',
      status: this.snapshotStatus,
      bytes: 4096,
      created_at: new Date(Date.UTC(2026, 0, 1) + this.#nextId * 1000).toISOString(),
      history: [],
      ...fields,
    };
    this.snapshots.unshift(snapshot);
    return snapshot;
  }

  /** Ends all connections, as a network that fails does. Streams of commands cannot be opened again. */
  cutConnections(): void {
    this.#areStreamsLost = true;
    this.#server.closeAllConnections();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '', this.url);
    const path = url.pathname.replace(/^\/v1/, '');
    const method = request.method ?? '';
    const body = JSON.parse((await text(request)) || '{}') as Record<string, unknown>;
    this.requests.push(`${method} ${path}`);
    if (this.#areStreamsLost && path.endsWith('/stream')) return void response.destroy();
    const send = (status: number, value: unknown) =>
      response.writeHead(status, { 'content-type': 'application/json', 'retry-after': '0' }).end(JSON.stringify(value));
    try {
      if (request.headers.authorization !== `Bearer ${this.key}`) throw problem(401, 'invalid_api_key');
      const key = request.headers['idempotency-key'];
      if (typeof key === 'string') this.keys.push(key);
      const failure = this.onRequest(method, path, body);
      if (failure && failure !== 'disconnect') throw failure;
      if (method === 'POST' && path.endsWith('/exec')) return await this.#stream(path, body, response);
      const replay = typeof key === 'string' ? this.#created.get(key) : undefined;
      const value = replay ?? (await this.#route(method, path, url.searchParams, body));
      if (typeof key === 'string') this.#created.set(key, value);
      if (failure === 'disconnect') return void response.destroy();
      send(replay || method !== 'POST' ? 200 : 201, value);
    } catch (error) {
      if (error instanceof Error) throw error;
      const { status, type, message = type } = error as Problem;
      send(status, { error: { type, message }, request_id: 'req_1' });
    }
  }

  async #route(method: string, path: string, query: URLSearchParams, body: Record<string, unknown>): Promise<unknown> {
    const [, collection, id = '', action = ''] = path.split('/');
    const route = `${method} ${collection} ${action}`;
    if (route === 'POST sandboxes ') return this.#createSandbox(body);
    if (route === 'GET snapshots ') return this.#listSnapshots(query);
    if (route === 'DELETE snapshots ') return this.#deleteSnapshot(id);
    if (route === 'POST executions kill') return { object: 'execution', id };
    const sandbox = this.#sandbox(id);
    if (route === 'POST sandboxes snapshots') return this.#takeSnapshot(sandbox, body);
    if (route === 'PUT sandboxes files') return writeFile(sandbox, body);
    if (route !== 'DELETE sandboxes ') throw problem(404, 'not_found');
    sandbox.deleted = true;
    return { object: 'sandbox', id, status: 'deleted', deleted_at: new Date().toISOString() };
  }

  #createSandbox(body: Record<string, unknown>): Sandbox {
    const from = this.snapshots.find((snapshot) => snapshot.id === body.snapshot_id);
    if (body.snapshot_id !== undefined && !from) throw problem(404, 'not_found');
    const id = `sbx_${this.#nextId++}`;
    this.sandboxes.push({ id, history: [...(from?.history ?? [])], deleted: false });
    const now = new Date().toISOString();
    return {
      object: 'sandbox',
      id,
      name: String(body.name),
      status: 'running',
      status_reason: null,
      size: 'small',
      resources: { vcpu: 2, memory_gb: 4, disk_gb: 40 },
      timeout_minutes: Number(body.timeout_minutes),
      created_at: now,
      ready_at: now,
      expires_at: now,
      ended_at: null,
      deleted_at: null,
      snapshot_id: null,
    };
  }

  /** Two per page, so that builds have to read several. */
  #listSnapshots(query: URLSearchParams) {
    const after = query.get('starting_after');
    const rest = this.snapshots.filter(({ created_at }) => after === null || created_at < after);
    const page = rest.slice(0, 2);
    const has_more = rest.length > 2;
    const data = page.map(({ history: _history, ...snapshot }) => snapshot);
    return { object: 'list', data, has_more, next_cursor: has_more ? (page.at(-1)?.created_at ?? null) : null };
  }

  #takeSnapshot({ id, history }: FakeSandbox, { name = null, alias = null }: Record<string, unknown>): Snapshot {
    if (alias !== null && this.template(alias as string)) {
      throw problem(400, 'invalid_request', 'alias is taken by another snapshot');
    }
    if (this.snapshots.length >= this.maxSnapshots) throw problem(429, 'quota_exceeded');
    const { history: _history, ...snapshot } = this.addSnapshot({
      name: name as string | null,
      alias: alias as string | null,
      sandbox_id: id,
      history: [...history],
    });
    return snapshot;
  }

  #deleteSnapshot(id: string) {
    if (!this.snapshots.some((snapshot) => snapshot.id === id)) throw problem(404, 'not_found');
    this.snapshots = this.snapshots.filter((snapshot) => snapshot.id !== id);
    return { object: 'snapshot', id, deleted: true };
  }

  #sandbox(id: string): FakeSandbox {
    const sandbox = this.sandboxes.find((each) => each.id === id && !each.deleted);
    if (!sandbox) throw problem(404, 'not_found');
    return sandbox;
  }

  /** Runs a command, and answers with the events of its start and its end. */
  async #stream(path: string, body: Record<string, unknown>, response: ServerResponse): Promise<void> {
    const sandbox = this.#sandbox(path.split('/')[2] ?? '');
    const id = `exec_${this.#nextId++}`;
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(`id: 0\nevent: start\ndata: ${JSON.stringify({ id })}\n\n`);
    const execution = await this.#run(sandbox, id, body as unknown as ReceivedCommand);
    response.end(`id: 1\nevent: exit\ndata: ${JSON.stringify(execution)}\n\n`);
  }

  async #run(sandbox: FakeSandbox, id: string, request: ReceivedCommand): Promise<Execution> {
    this.commands.push(request);
    const { exitCode = 0, stdout = '', status = 'completed' } = await this.onCommand(request);
    sandbox.history.push(request.command);
    return {
      object: 'execution',
      id,
      sandbox_id: sandbox.id,
      status,
      exit_code: exitCode,
      stdout,
      stderr: '',
      truncated: false,
      output_dropped: false,
      oom_killed: false,
      duration_ms: 1,
      started_at: null,
      finished_at: null,
    };
  }
}

function writeFile(sandbox: FakeSandbox, { path, content }: Record<string, unknown>) {
  sandbox.history.push(`write ${String(path)} ${String(content)}`);
  return { object: 'file', sandbox_id: sandbox.id, path, bytes: Buffer.from(String(content), 'base64').length };
}

function problem(status: number, type: ErrorType, message?: string): Problem {
  return { status, type, ...(message !== undefined && { message }) };
}
