import { once } from 'node:events';
import type { ServerHttp2Stream } from 'node:http2';
import { connect } from 'node:net';
import { pipeline } from 'node:stream';
import { json } from 'node:stream/consumers';
import type { AgentChannel, LaunchRequest } from '../../src/core/ports/machine-driver.ts';
import { StubDriver, StubMachine } from '../core/stub-driver.ts';
import { openPeer, respondJson, serve } from '../guest/peer.ts';

/** Launches machines whose agents speak the real protocol. They take an identity and open tunnels to servers on this host. */
export class TunnelDriver extends StubDriver {
  override async launch(request: LaunchRequest): Promise<StubMachine> {
    const machine = new TunnelMachine(request);
    this.machines.push(machine);
    return machine;
  }
}

class TunnelMachine extends StubMachine {
  override async openAgentChannel(): Promise<AgentChannel> {
    const peer = await openPeer();
    void this.exited.then(() => peer.data.destroy());
    void serve(peer, answer);
    return peer.channel;
  }
}

async function answer(stream: ServerHttp2Stream, path: string): Promise<void> {
  const { pathname, searchParams } = new URL(path, 'http://agent');
  // On a slow host the time is sent again.
  if (pathname === '/identity' || pathname === '/clock') {
    const { unix_ns } = (await json(stream)) as { readonly unix_ns: string };
    respondJson(stream, 200, { unix_ns });
  } else if (pathname === '/expiry') stream.respond({ ':status': 204 }, { endStream: true });
  else if (pathname === '/tunnels') await openTunnel(stream, Number(searchParams.get('port')));
  else respondJson(stream, 404, { code: 'not_found', message: 'no such request' });
}

/** A machine here has no localhost of its own, so the tunnel leads to this host's. */
async function openTunnel(stream: ServerHttp2Stream, port: number): Promise<void> {
  const server = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  try {
    await once(server, 'connect');
  } catch {
    respondJson(stream, 502, { code: 'refused', message: `nothing listens on port ${port}` });
    return;
  }
  stream.respond({ ':status': 200 });
  pipeline(stream, server, () => {});
  pipeline(server, stream, () => {});
}
