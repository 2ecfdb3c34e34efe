import type { Http2Server, ServerHttp2Session } from 'node:http2';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { GatewayLimits } from '../gateway-context.ts';
import { tokenOf } from '../preview-host.ts';

/** Tracks the visitors' connections: limits them per preview, closes idle ones and drains them on shutdown. */
export class Connections {
  readonly #domain: string;
  readonly #limits: GatewayLimits;
  readonly #open = new Set<Socket>();
  readonly #sessions = new Set<ServerHttp2Session>();
  readonly #perToken = new Map<string, number>();

  constructor(domain: string, limits: GatewayLimits) {
    this.#domain = domain;
    this.#limits = limits;
  }

  /** Tracks all connections of this server from now on. */
  watch(server: Http2Server): void {
    server.on('connection', (socket: Socket) => {
      this.#open.add(socket);
      socket.once('close', () => this.#open.delete(socket));
      socket.setNoDelay(true);
    });
    server.on('secureConnection', (socket: TLSSocket) => {
      socket.on('error', () => {});
      socket.setTimeout(this.#limits.idleMs, () => socket.destroy());
      this.#limitPerToken(socket);
    });
    server.on('session', (session: ServerHttp2Session) => this.#watchSession(session));
  }

  /** Gives requests in flight a moment to finish, then closes all connections. */
  async drain(): Promise<void> {
    for (const session of this.#sessions) session.close();
    const deadline = setTimeout(() => this.#destroyAll(), this.#limits.drainMs);
    await Promise.all(Array.from(this.#open, (socket) => new Promise((resolve) => socket.once('close', resolve))));
    clearTimeout(deadline);
  }

  #destroyAll(): void {
    for (const session of this.#sessions) session.destroy();
    for (const socket of this.#open) socket.destroy();
  }

  #limitPerToken(socket: TLSSocket): void {
    const { servername } = socket as TLSSocket & { readonly servername?: string | false };
    const token = tokenOf(servername || undefined, this.#domain);
    if (token === undefined) return;
    const count = (this.#perToken.get(token) ?? 0) + 1;
    this.#perToken.set(token, count);
    socket.once('close', () => this.#decrement(token));
    if (count > this.#limits.connectionsPerName) socket.destroy();
  }

  #decrement(token: string): void {
    const left = (this.#perToken.get(token) ?? 0) - 1;
    if (left > 0) this.#perToken.set(token, left);
    else this.#perToken.delete(token);
  }

  /** A connection without requests is closed sooner than one with a silent request. */
  #watchSession(session: ServerHttp2Session): void {
    let streams = 0;
    this.#sessions.add(session);
    session.once('close', () => this.#sessions.delete(session));
    session.on('error', () => {});
    session.setLocalWindowSize(this.#limits.connectionWindowBytes);
    session.setTimeout(this.#limits.keepAliveMs, () => session.destroy());
    session.on('stream', (stream) => {
      streams += 1;
      session.setTimeout(this.#limits.idleMs);
      stream.once('close', () => {
        streams -= 1;
        if (streams === 0 && !session.destroyed) session.setTimeout(this.#limits.keepAliveMs);
      });
    });
  }
}
