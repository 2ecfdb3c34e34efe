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

/** Somebody who trusts the authority and visits previews, which are all on this host. */
export class Visitor {
  readonly #ca: string;

  constructor(ca: string) {
    this.#ca = ca;
  }

  /** Where a preview is, for Node's clients. */
  address(url: URL): {
    readonly host: string;
    readonly port: number;
    readonly servername: string;
    readonly ca: string;
  } {
    return { host: '127.0.0.1', port: Number(url.port), servername: url.hostname, ca: this.#ca };
  }

  /** A whole answer over HTTP/1.1. */
  async get(url: URL, options: VisitOptions = {}): Promise<Page> {
    return pageOf(await this.open(url, options));
  }

  /** The head of an answer over HTTP/1.1, its body still to come. */
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

  /** A connection over HTTP/2. */
  http2(url: URL): ClientHttp2Session {
    const session = connectHttp2(url, { ...this.address(url), maxSessionMemory: 100 });
    session.on('error', () => {});
    return session;
  }

  /** A TLS connection over which anything can be said. */
  async raw(url: URL, more: ConnectionOptions = {}): Promise<TLSSocket> {
    const socket = connectTls({ ...this.address(url), ALPNProtocols: ['http/1.1'], ...more });
    socket.on('error', () => {});
    await once(socket, 'secureConnect');
    return socket;
  }
}

/** Everything that comes until the other side ends. */
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
