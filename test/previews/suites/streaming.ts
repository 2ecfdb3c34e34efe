import { once } from 'node:events';
import { Agent } from 'node:https';
import { PassThrough, type Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { connectionOptions, exchangeMessage, openWebSocket } from '../../support/previews/connections.ts';
import type { PreviewFixture } from '../../support/previews/preview-fixture.ts';
import { protocols, startVisit, visit, visitJson } from '../../support/previews/visit.ts';

/** The next chunk of a body, as text. */
async function nextChunk(body: Readable): Promise<string> {
  const [chunk] = (await once(body, 'data', { signal: AbortSignal.timeout(30_000) })) as [Buffer];
  return chunk.toString('utf8');
}

/** Requests and responses pass through a preview unchanged and without being buffered. */
export function describeStreaming(fixture: PreviewFixture) {
  return describe('streaming', () => {
    describe.each(protocols)('over %s', (protocol) => {
      it('server-sent events arrive one by one as they are sent', async () => {
        const { status, headers, body } = await startVisit(fixture.preview, '/events', { protocol });
        expect([status, headers['content-type']]).toEqual([200, 'text/event-stream']);
        expect(await nextChunk(body)).toBe(': open\n\n');
        for (const text of ['first', 'second', 'third']) {
          const arrived = nextChunk(body);
          // The server sends the event only now, so an event that arrives was not buffered.
          await visit(fixture.preview, '/say', { method: 'POST', body: text, protocol });
          expect(await arrived).toBe(`data: ${text}\n\n`);
        }
        body.destroy();
      });

      it('a request body of unknown length is uploaded in chunks while the response is received', async () => {
        const upload = new PassThrough();
        const { status, body } = await startVisit(fixture.preview, '/echo', { method: 'POST', body: upload, protocol });
        expect(status).toBe(200);
        for (const text of ['one', 'two', 'three']) {
          const arrived = nextChunk(body);
          upload.write(text);
          expect(await arrived).toBe(text);
        }
        const ended = once(body, 'end');
        upload.end();
        await ended;
      });

      it('status, headers and cookies of a response are forwarded; hop-by-hop headers are not', async () => {
        const { status, headers, text } = await visit(fixture.preview, '/headers', { protocol });
        expect([status, text]).toEqual([418, 'short and stout']);
        expect(headers['set-cookie']).toEqual(['a=1; Path=/', 'b=2']);
        expect(headers['x-own']).toBe('kept');
        expect(headers['x-hop']).toBeUndefined();
        expect(headers.location).toBe(new URL('/elsewhere', fixture.preview.url).href);
      });

      it('a response that the server aborts is aborted for the visitor too', async () => {
        await expect(visit(fixture.preview, '/break', { protocol })).rejects.toThrow();
      });

      it('a response without a body ends at once', async () => {
        const { status, headers, text } = await visit(fixture.preview, '/bytes?count=1000', {
          method: 'HEAD',
          protocol,
        });
        expect([status, headers['content-length'], text]).toEqual([200, '1000', '']);
      });

      it('a request body of known length is forwarded with its length', async () => {
        const upload = { method: 'POST', body: 'x'.repeat(10), headers: { 'content-length': 10 }, protocol };
        const { length, encoding, bytes } = await visitJson<Record<string, unknown>>(
          fixture.preview,
          '/upload',
          upload,
        );
        expect({ length, encoding, bytes }).toEqual({ length: '10', bytes: 10 });
      });
    });

    it('a WebSocket carries text and binary messages in both directions', async () => {
      const socket = await openWebSocket(fixture.preview);
      expect(await exchangeMessage(socket, 'over and')).toBe('back: over and');
      const bytes = Buffer.alloc(1024 ** 2, 'binary');
      const echoed = once(socket, 'message') as Promise<[Buffer, boolean]>;
      socket.send(bytes);
      const [received, isBinary] = await echoed;
      expect([bytes.equals(received), isBinary]).toEqual([true, true]);
      const closed = once(socket, 'close');
      socket.close(4_000, 'enough');
      expect((await closed)[0]).toBe(4_000);
    });

    it('connections are reused for the next request on both sides of the gateway', async () => {
      const agent = new Agent({ keepAlive: true, maxSockets: 1, ...connectionOptions(fixture.preview) });
      const seen = () => visitJson<{ readonly connections: number }>(fixture.preview, '/seen', { agent });
      const { connections } = await seen();
      for (let request = 0; request < 5; request += 1) expect((await seen()).connections).toBe(connections);
      expect(Object.values(agent.freeSockets).flat()).toHaveLength(1);
      agent.destroy();
    });
  });
}
