import { Agent, type ClientRequest, type ClientRequestArgs } from 'node:http';
import type { Duplex } from 'node:stream';
import type { PreviewTarget } from '../../core/previews/preview-traffic.ts';
import type { Connect, GatewayLimits } from '../gateway-context.ts';

type Connected = (error: Error | null, tunnel: Duplex) => void;

/** Arguments of a request through a tunnel. */
export interface TunnelRequestArgs extends ClientRequestArgs {
  readonly target: PreviewTarget;
  /** Aborts when the visitor leaves. Node does not pass a request's own `signal` on to the agent. */
  readonly visitorSignal: AbortSignal;
}

/** Reuses connections into sandboxes and closes those that stay idle. */
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

  override createConnection(options: ClientRequestArgs, connected?: Connected): undefined {
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
    // Node removes its idle listeners here and calls ref(), which a tunnel does not have.
    super.reuseSocket(Object.assign(tunnel, { ref: () => tunnel }), request);
  }
}

const idleTimers = new WeakMap<Duplex, NodeJS.Timeout>();

/** Opens a tunnel for a request. It is closed if the visitor has left by then. */
export function openTunnel(connect: Connect, { target, visitorSignal }: TunnelRequestArgs, connected: Connected): void {
  connect(target, visitorSignal).then(
    (tunnel) => {
      if (visitorSignal.aborted) tunnel.destroy();
      connected(null, tunnel);
    },
    // Node ignores the second argument if there is an error.
    (error: Error) => connected(error, undefined as never),
  );
}
