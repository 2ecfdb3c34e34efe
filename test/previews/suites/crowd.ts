import { once } from 'node:events';
import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import type { WebSocket } from 'ws';
import { output } from '../../support/http.ts';
import { exchangeMessage, openSocket } from '../../support/previews/socket.ts';
import { begin, type Protocol, protocols, visit, visitJson } from '../../support/previews/visit.ts';
import type { Visited } from '../../support/previews/visited.ts';

const many = 200;
const stuck = 24;
const piece = Buffer.alloc(65_536);

/** Many visitors at once, and some that are stuck. */
export const crowd = (visited: Visited) =>
  describe('crowds', () => {
    it(`${many} connections at once to one sandbox are all served, and all cut when the preview is closed`, async () => {
      const sockets = await Promise.all(Array.from({ length: many }, () => openSocket(visited.preview)));
      const answers = await Promise.all(sockets.map((socket, at) => exchangeMessage(socket, `${at}`)));
      expect(answers).toEqual(sockets.map((_, at) => `back: ${at}`));
      expect((await visit(visited.preview, '/seen')).status).toBe(200);
      expect(await output(visited.service, visited.sandbox.id, 'echo still')).toBe('still');
      const closed = Promise.all(sockets.map((socket: WebSocket) => once(socket, 'close')));
      const startedMs = performance.now();
      await visited.close();
      await closed;
      console.log(`${many} connections cut after ${Math.round(performance.now() - startedMs)} ms`);
      await visited.open();
    });

    it('visitors that do not read hold nobody up', async () => {
      const stall = (protocol: Protocol, count: number, bytes: number) =>
        Array.from({ length: count }, () =>
          begin(visited.preview, `/bytes?count=${bytes}`, { protocol, deadlineMs: 110_000 }),
        );
      // Over HTTP/1.1 the kernel takes megabytes of each before it is stuck; those over HTTP/2 together fill the windows of the channel.
      const stalled = await Promise.all([...stall('HTTP/1.1', 6, 30_000_000), ...stall('HTTP/2', 48, 1_000_000)]);
      try {
        for (const protocol of protocols) {
          const { text } = await visit(visited.preview, '/bytes?count=1000000', { protocol });
          expect(text).toHaveLength(1_000_000);
        }
        expect(await output(visited.service, visited.sandbox.id, 'head -c 100000 /dev/zero | wc -c')).toBe('100000');
      } finally {
        for (const { body } of stalled) body.on('error', () => {}).destroy();
      }
    });

    it('a server that does not read what it is sent holds nobody up who is sent something else', async () => {
      let taken = 0;
      const bodies = Array.from({ length: stuck }, () =>
        Readable.from(
          (function* () {
            for (;;) {
              taken += 1;
              yield piece;
            }
          })(),
        ),
      );
      const stalled = bodies.map((body, at) =>
        begin(visited.preview, '/never', {
          method: 'POST',
          body,
          protocol: at % 2 === 0 ? 'HTTP/1.1' : 'HTTP/2',
          deadlineMs: 110_000,
        }),
      );
      try {
        let before = -1;
        const isStill = () => {
          const still = taken > stuck && taken === before;
          before = taken;
          return still;
        };
        await expect.poll(isStill, { interval: 500, timeout: 60_000 }).toBe(true);
        for (const protocol of protocols) {
          const upload = { method: 'POST', body: Buffer.alloc(1_000_000), protocol };
          expect(await visitJson(visited.preview, '/drop', upload)).toEqual({ bytes: 1_000_000 });
        }
        expect(await output(visited.service, visited.sandbox.id, 'head -c 100000 /dev/zero | wc -c')).toBe('100000');
      } finally {
        for (const body of bodies) body.destroy(new Error('enough'));
        await Promise.allSettled(stalled);
      }
    });
  });
