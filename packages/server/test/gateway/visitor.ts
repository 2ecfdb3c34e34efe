import { once } from 'node:events';
import type { IncomingHttpHeaders, IncomingMessage, OutgoingHttpHeaders } from 'node:http';
import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2';
import { type Agent, request as httpsRequest, type RequestOptions } from 'node:https';
import { type ConnectionOptions, connect as connectTls, type TLSSocket } from 'node:tls';

export interface Page {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  readonly text: string;
}

export interface VisitOptions {
  readonly method?: string;
  readonly headers?: OutgoingHttpHeaders;
  readonly body?: Buffer | string;
  readonly path?: string;
  readonly agent?: Agent;
}

/** A client that trusts the local authority and visits previews on this host. */
export class Visitor {
  readonly #ca: string;

  constructor(ca: string) {
    this.#ca = ca;
  }

  /** The connection options for a preview. */
  address(url: URL): {
    readonly host: string;
    readonly port: number;
    readonly servername: string;
    readonly ca: string;
  } {
    return { host: '127.0.0.1', port: Number(url.port), servername: url.hostname, ca: this.#ca };
  }

  /** Fetches a page over HTTP/1.1. */
  async get(url: URL, options: VisitOptions = {}): Promise<Page> {
    return pageOf(await this.open(url, options));
  }

  /** Sends a request over HTTP/1.1 and returns the response before its body is read. */
  async open(url: URL, { method = 'GET', headers, body, path, agent }: VisitOptions = {}): Promise<IncomingMessage> {
    const options: RequestOptions = {
      ...this.address(url),
      method,
      path: path ?? `${url.pathname}${url.search}`,
      headers: { host: url.host, ...headers },
      agent: agent ?? false,
    };
    const request = httpsRequest(options);
    request.end(body);
    const [answer] = (await once(request, 'response')) as [IncomingMessage];
    return answer;
  }

  /** Opens an HTTP/2 connection. */
  http2(url: URL): ClientHttp2Session {
    const session = connectHttp2(url, { ...this.address(url), maxSessionMemory: 100 });
    session.on('error', () => {});
    return session;
  }

  /** Opens a TLS connection for raw bytes. */
  async raw(url: URL, more: ConnectionOptions = {}): Promise<TLSSocket> {
    const socket = connectTls({ ...this.address(url), ALPNProtocols: ['http/1.1'], ...more });
    socket.on('error', () => {});
    await once(socket, 'secureConnect');
    return socket;
  }
}

/** Reads until the connection is closed. */
export async function untilEnd(socket: TLSSocket): Promise<string> {
  let seen = '';
  socket.on('data', (bytes: Buffer) => {
    seen += bytes.toString('latin1');
  });
  if (!socket.closed) await once(socket, 'close');
  return seen;
}

export async function pageOf(answer: IncomingMessage): Promise<Page> {
  const pieces: Buffer[] = [];
  for await (const piece of answer) pieces.push(piece);
  const body = Buffer.concat(pieces);
  return { status: answer.statusCode ?? 0, headers: answer.headers, body, text: body.toString() };
}
