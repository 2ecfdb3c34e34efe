import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { pipeline } from 'node:stream';

interface RecordedRequest {
  readonly method: string;
  /** With the version prefix, without the query. */
  readonly path: string;
  readonly status: number;
}

/** A proxy that passes everything on and notes what was requested and with which status it was answered. WebSockets have the status 101. */
export class RecordingProxy {
  readonly requests: RecordedRequest[] = [];
  readonly #server: Server;
  readonly #target: URL;

  private constructor(target: string) {
    this.#target = new URL(target);
    this.#server = createServer((incoming, response) => this.#forward(incoming, response));
    this.#server.on('upgrade', (incoming, socket) => this.#forwardUpgrade(incoming, socket));
  }

  static async open(target: string): Promise<RecordingProxy> {
    const proxy = new RecordingProxy(target);
    await new Promise<void>((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #forward(incoming: IncomingMessage, response: ServerResponse): void {
    const sent = this.#request(incoming).once('response', (answer) => {
      this.#record(incoming, answer);
      response.writeHead(answer.statusCode ?? 0, answer.headers);
      response.flushHeaders();
      pipeline(answer, response, () => undefined);
    });
    pipeline(incoming, sent, (error) => error && response.destroy());
  }

  #forwardUpgrade(incoming: IncomingMessage, socket: Duplex): void {
    const sent = this.#request(incoming).once('upgrade', (answer, upstream, head) => {
      this.#record(incoming, answer);
      const headers = Object.entries(answer.headers).map(([name, value]) => `${name}: ${String(value)}\r\n`);
      socket.write(`HTTP/1.1 101 Switching Protocols\r\n${headers.join('')}\r\n`);
      socket.write(head);
      pipeline(upstream, socket, upstream, () => undefined);
    });
    sent.once('error', () => socket.destroy()).end();
  }

  #request({ url, method, headers }: IncomingMessage) {
    const { hostname, port } = this.#target;
    return request({ hostname, port, path: url, method, headers, agent: false });
  }

  #record({ method = '', url = '' }: IncomingMessage, { statusCode = 0 }: IncomingMessage): void {
    this.requests.push({ method, path: url.replace(/\?.*/, ''), status: statusCode });
  }
}
