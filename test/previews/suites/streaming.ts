import { once } from 'node:events';
import { Agent } from 'node:https';
import { PassThrough, type Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { routeTo } from '../../support/previews/route.ts';
import { exchangeMessage, openSocket } from '../../support/previews/socket.ts';
import { begin, protocols, visit, visitJson } from '../../support/previews/visit.ts';
import type { Visited } from '../../support/previews/visited.ts';

/** What comes next of a body, as text. */
const nextOf = async (body: Readable): Promise<string> => {
  const [piece] = (await once(body, 'data', { signal: AbortSignal.timeout(30_000) })) as [Buffer];
  return piece.toString('utf8');
};

/** What comes through a preview comes as it is sent. */
export const streaming = (visited: Visited) =>
  describe('streams', () => {
    describe.each(protocols)('over %s', (protocol) => {
      it('events of a server arrive one by one, as they are sent', async () => {
        const { status, headers, body } = await begin(visited.preview, '/events', { protocol });
        expect([status, headers['content-type']]).toEqual([200, 'text/event-stream']);
        expect(await nextOf(body)).toBe(': open\n\n');
        for (const text of ['first', 'second', 'third']) {
          const arrived = nextOf(body);
          // The server says it only now: what arrives was held back by nobody.
          await visit(visited.preview, '/say', { method: 'POST', body: text, protocol });
          expect(await arrived).toBe(`data: ${text}\n\n`);
        }
        body.destroy();
      });

      it('a body without a known length goes up piece by piece while the answer comes down', async () => {
        const pieces = new PassThrough();
        const { status, body } = await begin(visited.preview, '/echo', { method: 'POST', body: pieces, protocol });
        expect(status).toBe(200);
        for (const text of ['one', 'two', 'three']) {
          const arrived = nextOf(body);
          pieces.write(text);
          expect(await arrived).toBe(text);
        }
        const ended = once(body, 'end');
        pieces.end();
        await ended;
      });

      it('status, headers and cookies of an answer are passed on; those of one connection only are not', async () => {
        const { status, headers, text } = await visit(visited.preview, '/headers', { protocol });
        expect([status, text]).toEqual([418, 'short and stout']);
        expect(headers['set-cookie']).toEqual(['a=1; Path=/', 'b=2']);
        expect(headers['x-own']).toBe('kept');
        expect(headers['x-hop']).toBeUndefined();
        expect(headers.location).toBe(new URL('/elsewhere', visited.preview.url).href);
      });

      it('an answer that breaks off in the sandbox breaks off for its visitor', async () => {
        await expect(visit(visited.preview, '/break', { protocol })).rejects.toThrow();
      });

      it('an answer without a body ends at once', async () => {
        const { status, headers, text } = await visit(visited.preview, '/bytes?count=1000', {
          method: 'HEAD',
          protocol,
        });
        expect([status, headers['content-length'], text]).toEqual([200, '1000', '']);
      });

      it('a body with a length is sent on with its length', async () => {
        const upload = { method: 'POST', body: 'x'.repeat(10), headers: { 'content-length': 10 }, protocol };
        const { length, encoding, bytes } = await visitJson<Record<string, unknown>>(
          visited.preview,
          '/upload',
          upload,
        );
        expect({ length, encoding, bytes }).toEqual({ length: '10', bytes: 10 });
      });
    });

    it('a WebSocket carries text and bytes both ways', async () => {
      const socket = await openSocket(visited.preview);
      expect(await exchangeMessage(socket, 'over and')).toBe('back: over and');
      const bytes = Buffer.alloc(1024 ** 2, 'binary');
      const echoed = once(socket, 'message') as Promise<[Buffer, boolean]>;
      socket.send(bytes);
      const [back, isBinary] = await echoed;
      expect([bytes.equals(back), isBinary]).toEqual([true, true]);
      const closed = once(socket, 'close');
      socket.close(4_000, 'enough');
      expect((await closed)[0]).toBe(4_000);
    });

    it('a connection is kept for the next request, on both sides of the gateway', async () => {
      const agent = new Agent({ keepAlive: true, maxSockets: 1, ...routeTo(visited.preview) });
      const seen = () => visitJson<{ readonly connections: number }>(visited.preview, '/seen', { agent });
      const { connections } = await seen();
      for (let request = 0; request < 5; request += 1) expect((await seen()).connections).toBe(connections);
      expect(Object.values(agent.freeSockets).flat()).toHaveLength(1);
      agent.destroy();
    });
  });
