import { request } from 'node:http';
import type { Duplex } from 'node:stream';
import { afterEach, expect, it } from 'vitest';
import { openPeer, serve } from '../../test/guest/peer.ts';
import { transports } from '../../test/guest/transports.ts';
import type { GuestAgent } from '../core/ports/guest-agent.ts';
import { createGuestConnector } from './connector.ts';

const unixSocket = transports[1]?.open ?? expect.fail('no unix socket');
const agents: GuestAgent[] = [];
afterEach(() => {
  for (const agent of agents.splice(0)) agent.close();
});

/** An agent whose tunnels send back what they get. */
const echoing = async (): Promise<GuestAgent> => {
  const peer = await openPeer(unixSocket);
  const serving = serve(peer, (stream) => {
    stream.respond({ ':status': 200 });
    stream.pipe(stream);
  });
  const agent = await createGuestConnector().attachChannel(peer.channel, 5_000);
  await serving;
  agents.push(agent);
  return agent;
};

/** Gives what has come out of a tunnel so far. */
const collect = (tunnel: Duplex): (() => string) => {
  const pieces: Buffer[] = [];
  tunnel.on('data', (piece: Buffer) => pieces.push(piece));
  return () => Buffer.concat(pieces).toString('latin1');
};

it('writes that are held together and end with an empty one arrive as they were', async () => {
  const agent = await echoing();
  const tunnels = await Promise.all(Array.from({ length: 20 }, () => agent.openTunnel(3000)));
  const echoes = tunnels.map((tunnel, at) => {
    const echo = collect(tunnel);
    tunnel.cork();
    tunnel.write(`a head of some length, number ${at}; `, 'latin1');
    tunnel.write(Buffer.from('bytes'));
    tunnel.write('', 'latin1');
    tunnel.uncork();
    return echo;
  });
  for (const [at, echo] of echoes.entries()) {
    await expect.poll(echo).toBe(`a head of some length, number ${at}; bytes`);
  }
});

it('a request with a body that is complete before there is a tunnel arrives as it is', async () => {
  const agent = await echoing();
  const tunnel = agent.openTunnel(3000);
  const sent = request({
    method: 'POST',
    headers: { host: 'localhost', 'content-length': 5 },
    createConnection: (_, connected) => {
      void tunnel.then((opened) => connected(null, opened));
      return undefined;
    },
  });
  // What comes back is no answer.
  sent.on('error', () => {});
  sent.write(Buffer.from('bytes'));
  sent.end();
  await expect.poll(collect(await tunnel)).toMatch(/^POST \/ HTTP\/1\.1\r\n.*\r\n\r\nbytes$/s);
});
