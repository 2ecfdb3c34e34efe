import { once } from 'node:events';
import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import type { WebSocket } from 'ws';
import { output } from '../../support/api-requests.ts';
import { exchangeMessage, openWebSocket } from '../../support/previews/connections.ts';
import type { PreviewFixture } from '../../support/previews/preview-fixture.ts';
import { type Protocol, protocols, startVisit, visit, visitJson } from '../../support/previews/visit.ts';

const connectionCount = 200;
const stalledCount = 24;
const chunk = Buffer.alloc(65_536);

/** Many visitors at once, some of which stall. */
export function describeConcurrency(fixture: PreviewFixture) {
  return describe('concurrency', () => {
    it(`${connectionCount} concurrent connections to one sandbox are all served, and all closed with the preview`, async () => {
      const sockets = await Promise.all(Array.from({ length: connectionCount }, () => openWebSocket(fixture.preview)));
      const replies = await Promise.all(sockets.map((socket, at) => exchangeMessage(socket, `${at}`)));
      expect(replies).toEqual(sockets.map((_, at) => `back: ${at}`));
      expect((await visit(fixture.preview, '/seen')).status).toBe(200);
      expect(await output(fixture.service, fixture.sandbox.id, 'echo still')).toBe('still');
      const closed = Promise.all(sockets.map((socket: WebSocket) => once(socket, 'close')));
      const startedMs = performance.now();
      await fixture.close();
      await closed;
      console.log(`${connectionCount} connections closed after ${Math.round(performance.now() - startedMs)} ms`);
      await fixture.open();
    });

    it('visitors that do not read do not block others', async () => {
      const stall = (protocol: Protocol, count: number, bytes: number) =>
        Array.from({ length: count }, () =>
          startVisit(fixture.preview, `/bytes?count=${bytes}`, { protocol, deadlineMs: 400_000 }),
        );
      // Over HTTP/1.1 the kernel buffers megabytes of each response before it stalls, so two have to do: all of that is made in an emulated guest.
      // Those over HTTP/2 stall at once. Together they fill the stream windows of the channel, 256 KiB each, beyond its own of 8 MiB.
      const stalled = await Promise.all([...stall('HTTP/1.1', 2, 30_000_000), ...stall('HTTP/2', 46, 700_000)]);
      try {
        for (const protocol of protocols) {
          const { text } = await visit(fixture.preview, '/bytes?count=1000000', { protocol });
          expect(text).toHaveLength(1_000_000);
        }
        expect(await output(fixture.service, fixture.sandbox.id, 'head -c 100000 /dev/zero | wc -c')).toBe('100000');
      } finally {
        for (const { body } of stalled) body.on('error', () => {}).destroy();
      }
    });

    it('requests that the server does not read do not block others', async () => {
      let taken = 0;
      const bodies = Array.from({ length: stalledCount }, () =>
        Readable.from(
          (function* () {
            for (;;) {
              taken += 1;
              yield chunk;
            }
          })(),
        ),
      );
      const stalled = bodies.map((body, at) =>
        startVisit(fixture.preview, '/never', {
          method: 'POST',
          body,
          protocol: at % 2 === 0 ? 'HTTP/1.1' : 'HTTP/2',
          deadlineMs: 400_000,
        }),
      );
      try {
        let before = -1;
        const isStalled = () => {
          const stalled = taken > stalledCount && taken === before;
          before = taken;
          return stalled;
        };
        await expect.poll(isStalled, { interval: 500 }).toBe(true);
        for (const protocol of protocols) {
          const upload = { method: 'POST', body: Buffer.alloc(1_000_000), protocol };
          expect(await visitJson(fixture.preview, '/drop', upload)).toEqual({ bytes: 1_000_000 });
        }
        expect(await output(fixture.service, fixture.sandbox.id, 'head -c 100000 /dev/zero | wc -c')).toBe('100000');
      } finally {
        for (const body of bodies) body.destroy(new Error('the test is over'));
        await Promise.allSettled(stalled);
      }
    });
  });
}
