import { Agent, type ClientRequest, type ClientRequestArgs } from 'node:http';
import type { Duplex } from 'node:stream';
import type { PreviewTarget } from '../../core/previews/traffic.ts';
import type { GatewayLimits } from '../limits.ts';

type Connected = (error: Error | null, tunnel: Duplex) => void;

/** Opens a connection to a server in a sandbox. */
export type Connect = (target: PreviewTarget, signal: AbortSignal) => Promise<Duplex>;

/** What a request through tunnels carries besides what Node knows. */
export interface TunnelRequestArgs extends ClientRequestArgs {
  readonly target: PreviewTarget;
  /** Node keeps the signal of a request to itself. */
  readonly givenUp: AbortSignal;
}

/** Connections into sandboxes for one request after another, kept open for a moment in between. */
export class TunnelAgent extends Agent {
  readonly #connect: Connect;
  readonly #idleMs: number;

  constructor(connect: Connect, { idleTunnels, idleTunnelMs }: GatewayLimits) {
    super({ keepAlive: true, maxFreeSockets: idleTunnels, scheduling: 'lifo' });
    this.#connect = connect;
    this.#idleMs = idleTunnelMs;
  }

  override getName(options?: object): string {
    const { target } = options as TunnelRequestArgs;
    return `${target.sandboxId}:${target.port}`;
  }

  override createConnection(
    options: ClientRequestArgs,
    connected?: (error: Error | null, tunnel: Duplex) => void,
  ): undefined {
    openTunnel(this.#connect, options as TunnelRequestArgs, connected as Connected);
  }

  override keepSocketAlive(tunnel: Duplex): boolean {
    if (!idleTimers.has(tunnel)) tunnel.once('close', () => clearTimeout(idleTimers.get(tunnel)));
    const idle = setTimeout(() => tunnel.destroy(), this.#idleMs);
    idleTimers.set(tunnel, idle);
    return true;
  }

  override reuseSocket(tunnel: Duplex, request: ClientRequest): void {
    clearTimeout(idleTimers.get(tunnel));
    // Takes away what listens while nothing is asked, and refers to the socket, which a tunnel has no need of.
    super.reuseSocket(Object.assign(tunnel, { ref: () => tunnel }), request);
  }
}

const idleTimers = new WeakMap<Duplex, NodeJS.Timeout>();

/** Opens a tunnel for a request; one that comes after the request was given up is closed. */
export function openTunnel(connect: Connect, { target, givenUp }: TunnelRequestArgs, connected: Connected): void {
  connect(target, givenUp).then(
    (tunnel) => {
      if (givenUp.aborted) tunnel.destroy();
      connected(null, tunnel);
    },
    // The tunnel is not looked at when there is an error.
    (error: Error) => connected(error, undefined as never),
  );
}
