import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';

/** What happens to one request. */
export type Fault =
  /** The connection is cut before the request is passed on. */
  | { readonly kind: 'drop before' }
  /** The request is carried out, and the connection is cut before its response. */
  | { readonly kind: 'drop after' }
  /** The connection is cut after this many bytes of the response. */
  | { readonly kind: 'cut'; readonly afterBytes: number }
  /** The response comes late. */
  | { readonly kind: 'slow'; readonly ms: number }
  /** The response comes when this is fulfilled. */
  | { readonly kind: 'hold'; readonly until: Promise<void> }
  /** Nobody carries the request out; the response has this status. */
  | {
      readonly kind: 'respond';
      readonly status: number;
      readonly type?: string;
      readonly headers?: Readonly<Record<string, string>>;
    };

/** A proxy that does to the next requests what a test tells it, and passes all others on. */
export class FaultyProxy {
  readonly #server: Server;
  readonly #target: URL;
  readonly #faults: { readonly path: RegExp; readonly fault: Fault }[] = [];
  /** Method and path of every request that came in. */
  readonly received: string[] = [];

  private constructor(target: string) {
    this.#target = new URL(target);
    this.#server = createServer((incoming, response) => {
      this.#handle(incoming, response).catch(() => response.destroy());
    });
  }

  static async open(target: string): Promise<FaultyProxy> {
    const proxy = new FaultyProxy(target);
    await new Promise<void>((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** The next requests whose method and path match meet these faults, one each, in this order. */
  plan(path: RegExp, ...faults: readonly Fault[]): void {
    for (const fault of faults) this.#faults.push({ path, fault });
  }

  /** Drops the faults that no request has met. */
  clear(): void {
    this.#faults.length = 0;
  }

  /** How many requests matched. */
  count(path: RegExp): number {
    return this.received.filter((line) => path.test(line)).length;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #handle(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const line = `${incoming.method} ${incoming.url}`;
    this.received.push(line);
    const index = this.#faults.findIndex(({ path }) => path.test(line));
    const fault = index < 0 ? undefined : this.#faults.splice(index, 1)[0]?.fault;
    if (fault?.kind === 'drop before') return void incoming.socket.destroy();
    const body = await buffer(incoming);
    if (fault?.kind === 'respond') return respond(response, fault);
    const answer = await this.#forward(incoming, body);
    if (fault?.kind === 'drop after') {
      await buffer(answer);
      return void incoming.socket.destroy();
    }
    if (fault?.kind === 'slow') await sleep(fault.ms);
    if (fault?.kind === 'hold') await fault.until;
    response.writeHead(answer.statusCode ?? 500, answer.headers);
    response.flushHeaders();
    response.once('close', () => answer.destroy());
    let left = fault?.kind === 'cut' ? fault.afterBytes : Number.POSITIVE_INFINITY;
    for await (const chunk of answer as AsyncIterable<Buffer>) {
      const piece = chunk.subarray(0, left);
      left -= piece.length;
      await new Promise((resolve) => response.write(piece, resolve));
      if (left === 0) return void incoming.socket.destroy();
    }
    response.end();
  }

  #forward(incoming: IncomingMessage, body: Buffer): Promise<IncomingMessage> {
    const { hostname, port } = this.#target;
    const options = { hostname, port, path: incoming.url, method: incoming.method, headers: incoming.headers };
    return new Promise((resolve, reject) => {
      request({ ...options, agent: false }, resolve)
        .once('error', reject)
        .end(body);
    });
  }
}

function respond(response: ServerResponse, { status, type, headers = {} }: Extract<Fault, { kind: 'respond' }>): void {
  const body = type
    ? JSON.stringify({ error: { type, message: `injected ${status}` }, request_id: 'req_injected' })
    : `<html><h1>${status}</h1></html>`;
  response.writeHead(status, { 'content-type': type ? 'application/json' : 'text/html', ...headers }).end(body);
}
