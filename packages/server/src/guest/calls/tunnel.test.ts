import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import type { ServerHttp2Stream } from 'node:http2';
import type { Duplex } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, it } from 'vitest';
import { attachTo, type Handler, openPeer, type Peer, respondJson, serve } from '../../../test/guest/peer.ts';
import { type GuestAgent, GuestRefusal, GuestUnreachable } from '../../core/ports/guest-agent.ts';
import type { GuestConnectorOptions } from '../connector.ts';
import { ProtocolViolation } from '../guest-errors.ts';

const impatient: GuestConnectorOptions = { deadlines: { smallCallMs: 1_000 } };
const agents: GuestAgent[] = [];
afterEach(() => {
  for (const agent of agents.splice(0)) agent.close();
});

async function attached(
  handler: Handler,
  options: GuestConnectorOptions = {},
): Promise<{ readonly agent: GuestAgent; readonly peer: Peer }> {
  const peer = await openPeer();
  const serving = serve(peer, handler);
  const agent = await attachTo(peer, 5_000, options);
  await serving;
  agents.push(agent);
  return { agent, peer };
}

const echo: Handler = (stream) => {
  stream.respond({ ':status': 200 });
  stream.pipe(stream);
};

describe('a tunnel', () => {
  it('carries any number of bytes in both directions until either side ends', async () => {
    const asked: string[] = [];
    const { agent } = await attached((stream, path, method) => {
      asked.push(`${method} ${path}`);
      return echo(stream, path, method);
    });
    const tunnel = await agent.openTunnel(3000);
    let received = 0;
    tunnel.on('data', (bytes: Buffer) => {
      received += bytes.length;
    });
    for (let piece = 0; piece < 100; piece += 1) {
      if (!tunnel.write(Buffer.alloc(100_000))) await once(tunnel, 'drain');
    }
    tunnel.end();
    await once(tunnel, 'close');
    expect([asked, received]).toEqual([['POST /tunnels?port=3000'], 10_000_000]);
  });

  it('carries a request of the HTTP client of Node unchanged', async () => {
    const heard = Promise.withResolvers<string>();
    const { agent } = await attached(async (stream) => {
      stream.respond({ ':status': 200 });
      heard.resolve(await text(stream));
    });
    const tunnel = await agent.openTunnel(3000);
    const request = httpRequest({
      method: 'POST',
      headers: { 'content-length': '4' },
      createConnection: (_options, connected) => {
        setImmediate(() => connected?.(null, tunnel));
        return undefined;
      },
    });
    request.on('error', () => {});
    request.end(Buffer.from('body'), () => tunnel.end());
    expect(await heard.promise).toMatch(/^POST \/ HTTP\/1\.1\r\ncontent-length: 4\r\n.*\r\n\r\nbody$/s);
  });

  it('closes once the guest has ended its side', async () => {
    const { agent } = await attached((stream) => {
      stream.respond({ ':status': 200 });
      stream.end('bye');
    });
    const tunnel = await agent.openTunnel(3000);
    expect(await text(tunnel)).toBe('bye');
    await expect.poll(() => tunnel.closed).toBe(true);
  });

  it('fails when the guest resets it', async () => {
    const { agent } = await attached((stream) => {
      stream.respond({ ':status': 200 });
      stream.write('half');
      setTimeout(() => stream.destroy(new Error('reset')), 10);
    });
    await expect(text(await agent.openTunnel(3000))).rejects.toThrow();
  });

  it('that is not read buffers one window at most and blocks no other call', async () => {
    let accepted = 0;
    const { agent } = await attached((stream, path) => {
      if (!path.startsWith('/tunnels')) return respondJson(stream, 204, {});
      stream.respond({ ':status': 200 });
      const more = () => {
        while (stream.writable && stream.write(Buffer.alloc(65_536))) accepted += 65_536;
      };
      stream.on('drain', more);
      more();
    });
    const tunnels = await Promise.all(Array.from({ length: 100 }, () => agent.openTunnel(80)));
    expect((await agent.hello()).protocol).toBe(1);
    expect(accepted).toBeLessThan(100 * 1_000_000);
    for (const tunnel of tunnels) tunnel.destroy();
  });

  it('closes with the connection', async () => {
    const { agent, peer } = await attached(echo);
    const tunnel = await agent.openTunnel(3000);
    tunnel.resume();
    peer.data.destroy();
    await expect.poll(() => tunnel.closed).toBe(true);
    await expect(agent.openTunnel(3000)).rejects.toBeInstanceOf(GuestUnreachable);
  });
});

describe('a tunnel that cannot be opened', () => {
  const refuse = (stream: ServerHttp2Stream) => {
    stream.respond({ ':status': 502 });
    return stream;
  };

  it('fails with the reason of the agent if nothing listens', async () => {
    const { agent } = await attached((stream) =>
      respondJson(stream, 502, { code: 'refused', message: 'no\nlistener' }),
    );
    const refusal = await agent.openTunnel(3000).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(GuestRefusal);
    expect(refusal).toMatchObject({ code: 'refused', message: 'no listener' });
  });

  it.each<[string, Handler, new (...given: never[]) => Error]>([
    ['that never answers', () => {}, GuestUnreachable],
    ['that resets', (stream) => stream.close(2), GuestUnreachable],
    ['with an unexpected status', (stream) => stream.respond({ ':status': 304 }), ProtocolViolation],
    ['whose refusal is not JSON', (stream) => refuse(stream).end('{'), ProtocolViolation],
    ['whose refusal does not end', (stream) => refuse(stream).write('{'), GuestUnreachable],
    ['whose refusal is huge', (stream) => refuse(stream).end(Buffer.alloc(100_000)), ProtocolViolation],
  ])('fails for an agent %s', async (_how, handler, error) => {
    const { agent } = await attached(handler, impatient);
    await expect(agent.openTunnel(3000)).rejects.toBeInstanceOf(error);
    expect((await agent.hello()).protocol).toBe(1);
  });
});

/** Returns a function that gives everything that has arrived through the tunnel so far. */
function collect(tunnel: Duplex): () => string {
  const pieces: Buffer[] = [];
  tunnel.on('data', (piece: Buffer) => pieces.push(piece));
  return () => Buffer.concat(pieces).toString('latin1');
}

describe('batched writes', () => {
  it('arrive unchanged if the last one is empty', async () => {
    const { agent } = await attached(echo);
    const tunnels = await Promise.all(Array.from({ length: 20 }, () => agent.openTunnel(3000)));
    const echoes = tunnels.map((tunnel, at) => {
      const received = collect(tunnel);
      tunnel.cork();
      tunnel.write(`a head of some length, number ${at}; `, 'latin1');
      tunnel.write(Buffer.from('bytes'));
      tunnel.write('', 'latin1');
      tunnel.uncork();
      return received;
    });
    for (const [at, received] of echoes.entries()) {
      await expect.poll(received).toBe(`a head of some length, number ${at}; bytes`);
    }
  });

  it('of a request that is complete before the tunnel opens arrive unchanged', async () => {
    const { agent } = await attached(echo);
    const tunnel = agent.openTunnel(3000);
    const sent = httpRequest({
      method: 'POST',
      headers: { host: 'localhost', 'content-length': 5 },
      createConnection: (_, connected) => {
        void tunnel.then((opened) => connected(null, opened));
        return undefined;
      },
    });
    // The echo is not a valid response.
    sent.on('error', () => {});
    sent.write(Buffer.from('bytes'));
    sent.end();
    await expect.poll(collect(await tunnel)).toMatch(/^POST \/ HTTP\/1\.1\r\n.*\r\n\r\nbytes$/s);
  });
});
