import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import type { ServerHttp2Stream } from 'node:http2';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, it } from 'vitest';
import { type Handler, openPeer, type Peer, respondJson, serve } from '../../test/guest/peer.ts';
import { transports } from '../../test/guest/transports.ts';
import { type GuestAgent, GuestRefusal, GuestUnreachable } from '../core/ports/guest-agent.ts';
import { createGuestConnector } from './connector.ts';
import { ProtocolViolation } from './protocol-violation.ts';

const impatient = createGuestConnector({ deadlines: { smallCallMs: 200 } });
const unixSocket = transports[1]?.open ?? expect.fail('no unix socket');
const agents: GuestAgent[] = [];
afterEach(() => {
  for (const agent of agents.splice(0)) agent.close();
});

async function attached(
  handler: Handler,
  connector = createGuestConnector(),
): Promise<{ readonly agent: GuestAgent; readonly peer: Peer }> {
  const peer = await openPeer(unixSocket);
  const serving = serve(peer, handler);
  const agent = await connector.attachChannel(peer.channel, 5_000);
  await serving;
  agents.push(agent);
  return { agent, peer };
}

const echo: Handler = (stream) => {
  stream.respond({ ':status': 200 });
  stream.pipe(stream);
};

describe('a tunnel', () => {
  it('carries bytes both ways, however many, until either side ends', async () => {
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

  it('carries the head and the body of a request of Node’s own as they are', async () => {
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
    if (!tunnel.closed) await once(tunnel, 'close');
  });

  it('does not look ended when the guest broke it off', async () => {
    const { agent } = await attached((stream) => {
      stream.respond({ ':status': 200 });
      stream.write('half');
      setTimeout(() => stream.destroy(new Error('reset')), 10);
    });
    await expect(text(await agent.openTunnel(3000))).rejects.toThrow();
  });

  it('that nobody reads holds a window of bytes and no more, and holds up nobody else', async () => {
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
    await agent.hello();
    expect(accepted).toBeLessThan(100 * 1_000_000);
    for (const tunnel of tunnels) tunnel.destroy();
  });

  it('is gone with the connection', async () => {
    const { agent, peer } = await attached(echo);
    const tunnel = await agent.openTunnel(3000);
    tunnel.resume();
    peer.data.destroy();
    await new Promise((resolve) => tunnel.once('close', resolve));
  });
});

describe('no tunnel', () => {
  const refuse = (stream: ServerHttp2Stream) => {
    stream.respond({ ':status': 502 });
    return stream;
  };

  it('where nothing listens: the reason is the agent’s', async () => {
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
    ['with a status that is not agreed', (stream) => stream.respond({ ':status': 304 }), ProtocolViolation],
    ['whose refusal is no JSON', (stream) => refuse(stream).end('{'), ProtocolViolation],
    ['whose refusal has no end', (stream) => refuse(stream).write('{'), GuestUnreachable],
    ['whose refusal is huge', (stream) => refuse(stream).end(Buffer.alloc(100_000)), ProtocolViolation],
  ])('from an agent %s', async (_how, handler, error) => {
    const { agent } = await attached(handler, impatient);
    await expect(agent.openTunnel(3000)).rejects.toBeInstanceOf(error);
    await agent.hello();
  });
});
