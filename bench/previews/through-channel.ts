import { Agent, type ClientRequest, request } from 'node:http';
import type { Duplex } from 'node:stream';
import type { GuestAgent } from '#server/core/ports/guest-agent.ts';
import { http1Exchange } from './exchange.ts';
import { type Load, measureLoad } from './load.ts';

type Connected = (error: Error | null, tunnel?: Duplex) => void;

/** An HTTP agent whose connections are tunnels to a port of a machine. */
class ChannelAgent extends Agent {
  readonly #guest: GuestAgent;
  readonly #port: number;

  constructor(guest: GuestAgent, port: number) {
    super({ keepAlive: true });
    this.#guest = guest;
    this.#port = port;
  }

  override createConnection(_options: unknown, connected?: unknown): undefined {
    const tell = connected as Connected;
    this.#guest.openTunnel(this.#port).then(
      (tunnel) => tell(null, tunnel),
      (error: Error) => tell(error),
    );
  }

  // A tunnel has none of the socket methods that Node calls on idle connections.
  override keepSocketAlive(): boolean {
    return true;
  }

  override reuseSocket(tunnel: Duplex, sent: ClientRequest): void {
    super.reuseSocket(Object.assign(tunnel, { ref: () => tunnel }), sent);
  }
}

/** Measures a load over the agent's channel, without service and TLS, in milliseconds. */
export async function visitThroughChannel(guest: GuestAgent, port: number, load: Load): Promise<number> {
  const agent = new ChannelAgent(guest, port);
  try {
    return await measureLoad(http1Exchange(request, { agent }), load);
  } finally {
    agent.destroy();
  }
}
