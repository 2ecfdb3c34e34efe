import type { ServerHttp2Stream } from 'node:http2';
import { FakeExecution, type FakeExecutionRequest } from './execution.ts';
import { FakeFiles } from './files.ts';
import type { Gate } from './gate.ts';
import { FakeRefusal, noContent, readBody, sendJson } from './respond.ts';
import { openTunnel } from './tunnel.ts';

/** What a fake machine was told about itself. */
export interface FakeIdentity {
  readonly hostname: string;
  readonly machine_id: string;
  readonly expires_at_ms: number;
}

/** The agent inside a fake machine: what it keeps outlives every connection to it. */
export class FakeAgent {
  readonly files = new FakeFiles();
  readonly #executions = new Map<string, FakeExecution>();
  readonly #machineGone: AbortSignal;
  readonly #gate: Gate;
  readonly #bootedAtMs = Date.now();
  /** How far its clock is from the host's; a clone wakes in the past. */
  #clockOffsetMs = -60_000;
  #identity: FakeIdentity | undefined;

  constructor(machineGone: AbortSignal, gate: Gate) {
    this.#machineGone = machineGone;
    this.#gate = gate;
  }

  get identity(): FakeIdentity | undefined {
    return this.#identity;
  }

  get clockOffsetMs(): number {
    return this.#clockOffsetMs;
  }

  /** The ids of the executions that were not forgotten yet. */
  get executionIds(): readonly string[] {
    return [...this.#executions.keys()];
  }

  /** Settles when nothing runs any more. */
  async executionsEnded(): Promise<void> {
    await Promise.allSettled([...this.#executions.values()].map((execution) => execution.ended));
  }

  /** Answers one request; throws FakeRefusal for what the protocol refuses. */
  async answer(stream: ServerHttp2Stream, method: string, url: URL): Promise<void> {
    const [, folder = '', id = ''] = url.pathname.split('/');
    switch (`${method} /${folder}${id === '' ? '' : '/{id}'}`) {
      case 'GET /hello':
        return sendJson(stream, {
          protocol: 1,
          version: 'fake',
          kernel: 'none',
          boot_ms: Date.now() - this.#bootedAtMs,
        });
      case 'POST /identity':
      case 'POST /clock':
        return this.#setTime(stream, folder);
      case 'POST /expiry':
        return this.#setExpiry(stream);
      case 'GET /figures':
        return sendJson(stream, this.#figures());
      case 'POST /executions':
        return this.#execute(stream);
      case 'GET /executions/{id}':
        return this.#follow(stream, this.#execution(id));
      case 'DELETE /executions/{id}':
        return this.#forget(stream, id);
      case 'GET /files':
        return this.#readFile(stream, url);
      case 'PUT /files':
        return this.#writeFile(stream, url);
      case 'GET /files/{id}':
        return this.#listFiles(stream, url);
      case 'DELETE /files':
        return this.#deleteFile(stream, url);
      case 'POST /tunnels':
        return openTunnel(stream, Number(url.searchParams.get('port')));
      default:
        throw new FakeRefusal(404, 'not_found', 'no such request');
    }
  }

  async #setTime(stream: ServerHttp2Stream, request: string): Promise<void> {
    const told = JSON.parse((await readBody(stream)).toString());
    this.#clockOffsetMs = Number(BigInt(told.unix_ns) / 1_000_000n) - Date.now();
    if (request === 'identity') {
      const { hostname, machine_id, expires_at_ms } = told;
      this.#identity = { hostname, machine_id, expires_at_ms };
    }
    sendJson(stream, { unix_ns: this.#unixNs() });
  }

  async #setExpiry(stream: ServerHttp2Stream): Promise<void> {
    const { expires_at_ms } = JSON.parse((await readBody(stream)).toString());
    if (this.#identity !== undefined) this.#identity = { ...this.#identity, expires_at_ms };
    noContent(stream);
  }

  async #execute(stream: ServerHttp2Stream): Promise<void> {
    const request: FakeExecutionRequest = JSON.parse((await readBody(stream)).toString());
    if (this.#executions.has(request.id)) throw new FakeRefusal(409, 'exists', 'this execution exists');
    if (!this.files.isFolder(request.cwd)) throw new FakeRefusal(400, 'bad_cwd', `${request.cwd} is no directory`);
    const execution = new FakeExecution(request, this.files, this.#machineGone);
    this.#executions.set(request.id, execution);
    await this.#follow(stream, execution);
  }

  async #follow(stream: ServerHttp2Stream, execution: FakeExecution): Promise<void> {
    stream.respond({ ':status': 200 });
    stream.write(execution.startFrame());
    const frames = await execution.ended;
    await this.#gate.passed();
    stream.end(frames);
  }

  #forget(stream: ServerHttp2Stream, id: string): void {
    if (this.#execution(id).running) throw new FakeRefusal(409, 'exists', 'it is still running');
    this.#executions.delete(id);
    noContent(stream);
  }

  #execution(id: string): FakeExecution {
    const execution = this.#executions.get(id);
    if (execution === undefined) throw new FakeRefusal(404, 'not_found', 'no such execution');
    return execution;
  }

  #readFile(stream: ServerHttp2Stream, url: URL): void {
    const path = FakeFiles.resolve(url.searchParams.get('path') ?? '');
    const content = this.files.read(path);
    if (content === undefined && this.files.isFolder(path))
      throw new FakeRefusal(409, 'is_directory', `${path} is a directory`);
    if (content === undefined) throw new FakeRefusal(404, 'not_found', `${path} does not exist`);
    if (content.length > Number(url.searchParams.get('max_bytes')))
      throw new FakeRefusal(413, 'too_large', 'too large');
    stream.respond({ ':status': 200, 'mayfly-size': content.length, 'mayfly-mode': '644' });
    stream.end(content);
  }

  async #writeFile(stream: ServerHttp2Stream, url: URL): Promise<void> {
    const path = FakeFiles.resolve(url.searchParams.get('path') ?? '');
    if (this.files.isFolder(path)) throw new FakeRefusal(409, 'is_directory', `${path} is a directory`);
    const content = await readBody(stream);
    if (content.length > Number(url.searchParams.get('max_bytes')))
      throw new FakeRefusal(413, 'too_large', 'too large');
    this.files.write(path, content);
    sendJson(stream, { path, bytes: content.length });
  }

  #listFiles(stream: ServerHttp2Stream, url: URL): void {
    const path = FakeFiles.resolve(url.searchParams.get('path') ?? '');
    if (this.files.read(path) !== undefined) throw new FakeRefusal(409, 'not_directory', `${path} is not a directory`);
    if (!this.files.isFolder(path)) throw new FakeRefusal(404, 'not_found', `${path} does not exist`);
    const names = this.files.list(path);
    const maxEntries = Number(url.searchParams.get('max_entries'));
    const entries = names.slice(0, maxEntries).map(({ name, sizeBytes }) => ({
      name_base64: Buffer.from(name).toString('base64'),
      type: sizeBytes === null ? 'dir' : 'file',
      size_bytes: sizeBytes,
    }));
    sendJson(stream, { path, entries, truncated: names.length > maxEntries });
  }

  #deleteFile(stream: ServerHttp2Stream, url: URL): void {
    const path = FakeFiles.resolve(url.searchParams.get('path') ?? '');
    if (path === '/' || path === '/workspace') throw new FakeRefusal(400, 'bad_request', `${path} cannot be removed`);
    const isFile = this.files.read(path) !== undefined;
    if (!isFile && !this.files.isFolder(path)) throw new FakeRefusal(404, 'not_found', `${path} does not exist`);
    if (!isFile && url.searchParams.get('recursive') !== '1')
      throw new FakeRefusal(409, 'is_directory', `${path} is a directory`);
    this.files.remove(path);
    sendJson(stream, { path });
  }

  #figures(): object {
    return {
      cpu: { count: 2, user_us: 0, system_us: 0 },
      memory: { total_bytes: 4 * 2 ** 30, available_bytes: 3 * 2 ** 30 },
      disk: { total_bytes: 40 * 2 ** 30, free_bytes: 39 * 2 ** 30 },
      network: { rx_bytes: 0, tx_bytes: 0 },
      processes: 1 + [...this.#executions.values()].filter((execution) => execution.running).length,
      uptime_ms: Date.now() - this.#bootedAtMs,
      unix_ns: this.#unixNs(),
    };
  }

  #unixNs(): string {
    return String(BigInt(Date.now() + this.#clockOffsetMs) * 1_000_000n);
  }
}
