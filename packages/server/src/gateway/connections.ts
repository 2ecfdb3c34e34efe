import type { Http2Server, ServerHttp2Session } from 'node:http2';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { tokenOf } from './host.ts';
import type { GatewayLimits } from './limits.ts';

/** The visitors' connections: how many there may be, and how long one may be silent. */
export class Connections {
  readonly #domain: string;
  readonly #limits: GatewayLimits;
  readonly #open = new Set<Socket>();
  readonly #sessions = new Set<ServerHttp2Session>();
  readonly #perName = new Map<string, number>();

  constructor(domain: string, limits: GatewayLimits) {
    this.#domain = domain;
    this.#limits = limits;
  }

  /** From now on these are the connections of this server. */
  watch(server: Http2Server): void {
    server.on('connection', (socket: Socket) => {
      this.#open.add(socket);
      socket.once('close', () => this.#open.delete(socket));
      socket.setNoDelay(true);
    });
    server.on('secureConnection', (socket: TLSSocket) => {
      socket.on('error', () => {});
      socket.setTimeout(this.#limits.idleMs, () => socket.destroy());
      this.#countName(socket);
    });
    server.on('session', (session: ServerHttp2Session) => this.#watchSession(session));
  }

  /** Lets requests in flight finish for a moment, then cuts what is left. */
  async drain(): Promise<void> {
    for (const session of this.#sessions) session.close();
    const deadline = setTimeout(() => this.cut(), this.#limits.drainMs);
    await Promise.all(Array.from(this.#open, (socket) => new Promise((resolve) => socket.once('close', resolve))));
    clearTimeout(deadline);
  }

  cut(): void {
    for (const session of this.#sessions) session.destroy();
    for (const socket of this.#open) socket.destroy();
  }

  #countName(socket: TLSSocket): void {
    const { servername } = socket as TLSSocket & { readonly servername?: string | false };
    const token = tokenOf(servername || undefined, this.#domain);
    if (token === undefined) return;
    const count = (this.#perName.get(token) ?? 0) + 1;
    this.#perName.set(token, count);
    socket.once('close', () => this.#uncountName(token));
    if (count > this.#limits.connectionsPerName) socket.destroy();
  }

  #uncountName(token: string): void {
    const left = (this.#perName.get(token) ?? 0) - 1;
    if (left > 0) this.#perName.set(token, left);
    else this.#perName.delete(token);
  }

  /** A connection without requests goes sooner than one with a silent request. */
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
