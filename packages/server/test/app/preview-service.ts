import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { pino } from 'pino';
import { readConfig } from '../../src/app/config.ts';
import { startService } from '../../src/app/service.ts';
import type { GatewayLimits } from '../../src/gateway/gateway-context.ts';
import { createGuestConnector } from '../../src/guest/connector.ts';
import { TunnelDriver } from './tunnel-driver.ts';

/** A whole service with a gateway. Its machines are stubs; the servers in them listen on this host. */
export class PreviewService implements AsyncDisposable {
  readonly driver = new TunnelDriver();
  /** All log lines. */
  readonly logged: string[] = [];
  readonly #key = 'mf_test_key_of_the_preview_service';
  readonly #servers: Server[] = [];
  readonly #folder: string;
  #service!: Awaited<ReturnType<typeof startService>>;
  ca = '';

  private constructor(folder: string) {
    this.#folder = folder;
  }

  static async start(
    settings: NodeJS.ProcessEnv = {},
    gatewayLimits: Partial<GatewayLimits> = {},
  ): Promise<PreviewService> {
    const it = new PreviewService(await mkdtemp(join(tmpdir(), 'mayfly-previews-')));
    const write = (line: Buffer, _encoding: string, done: () => void) => {
      it.logged.push(line.toString());
      done();
    };
    it.#service = await startService({
      config: readConfig({
        MAYFLY_DATA_DIR: it.#folder,
        MAYFLY_PORT: '0',
        MAYFLY_PREVIEW_PORT: '0',
        MAYFLY_POOL: 'none',
        MAYFLY_MEMORY_RESERVE_MB: '0',
        MAYFLY_DISK_RESERVE_MB: '0',
        MAYFLY_BOOTSTRAP_API_KEY: it.#key,
        MAYFLY_LIMIT_REQUESTS_PER_MINUTE: '100000',
        MAYFLY_LIMIT_CREATIONS_PER_MINUTE: '100000',
        MAYFLY_LIMIT_SOURCE_REQUESTS_PER_MINUTE: '100000',
        MAYFLY_LIMIT_CONCURRENT_SANDBOXES: '1000',
        ...settings,
      }),
      openDriver: async () => it.driver,
      connector: createGuestConnector(),
      gatewayLimits,
      log: pino({ level: 'trace' }, new Writable({ write })),
    });
    const { rootFile } = it.#service.previews;
    if (rootFile !== undefined) it.ca = await readFile(rootFile, 'utf8');
    return it;
  }

  get previewPort(): number {
    return Number(new URL(this.#service.previews.url.replace('*', 'x')).port);
  }

  get core() {
    return this.#service.core;
  }

  /** Calls the API. */
  async call(method: string, path: string, body?: unknown): Promise<Record<string, unknown>> {
    const response = await fetch(`${this.#service.url}/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${this.#key}` },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
    return (await response.json()) as Record<string, unknown>;
  }

  async sandbox(): Promise<string> {
    return String((await this.call('POST', '/sandboxes')).id);
  }

  /** Opens a preview of a port of a sandbox. */
  async open(sandboxId: string, port: number): Promise<URL> {
    return new URL(String((await this.call('POST', `/sandboxes/${sandboxId}/ports`, { port })).url));
  }

  /** Starts a server on localhost. */
  async listen(listener: RequestListener, port = 0): Promise<{ readonly port: number; readonly server: Server }> {
    const server = createServer({ maxHeaderSize: 131_072 }, listener);
    this.#servers.push(server);
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
    return { port: (server.address() as AddressInfo).port, server };
  }

  /** Creates a sandbox with a server in it and opens its preview. */
  async serve(
    listener: RequestListener,
  ): Promise<{ readonly sandboxId: string; readonly port: number; readonly url: URL; readonly server: Server }> {
    const { port, server } = await this.listen(listener);
    const sandboxId = await this.sandbox();
    return { sandboxId, port, url: await this.open(sandboxId, port), server };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const server of this.#servers) {
      server.closeAllConnections();
      server.close();
    }
    await this.#service.stop('destroy');
    await rm(this.#folder, { recursive: true, force: true });
  }
}
