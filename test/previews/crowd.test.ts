import { once } from 'node:events';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { WebSocket } from 'ws';
import { createSandbox, output } from '../support/http.ts';
import { startNodeServer } from '../support/previews/guest-server.ts';
import { closePreview, type OpenPreview, openPreview } from '../support/previews/open-preview.ts';
import { exchangeMessage, openSocket } from '../support/previews/socket.ts';
import { begin, protocols, visit, visitJson } from '../support/previews/visit.ts';
import { startTestService, type TestService } from '../support/service.ts';

const port = 3000;
const crowd = 200;
const stuck = 24;
const piece = Buffer.alloc(65_536);
let service: TestService;
let id: string;
let preview: OpenPreview;
beforeAll(async () => {
  service = await startTestService();
  ({ id } = await createSandbox(service));
  await startNodeServer(service, id, port);
  preview = await openPreview(service, id, port);
});
afterAll(() => service.stop());

it(`${crowd} connections at once to one sandbox are all served, and all cut when the preview is closed`, async () => {
  const sockets = await Promise.all(Array.from({ length: crowd }, () => openSocket(preview)));
  const answers = await Promise.all(sockets.map((socket, at) => exchangeMessage(socket, `${at}`)));
  expect(answers).toEqual(sockets.map((_, at) => `back: ${at}`));
  expect((await visit(preview, '/seen')).status).toBe(200);
  expect(await output(service, id, 'echo still')).toBe('still');
  const closed = Promise.all(sockets.map((socket: WebSocket) => once(socket, 'close')));
  const startedMs = performance.now();
  await closePreview(service, id, port);
  await closed;
  console.log(`${crowd} connections cut after ${Math.round(performance.now() - startedMs)} ms`);
  preview = await openPreview(service, id, port);
});

// Over HTTP/1.1 the kernel takes megabytes of each before it is stuck; over HTTP/2 together they fill the windows of the channel.
it.each([
  [6, 'HTTP/1.1', 30_000_000],
  [48, 'HTTP/2', 1_000_000],
] as const)('%i visitors that do not read hold nobody up, over %s', async (count, protocol, bytes) => {
  const stalled = await Promise.all(
    Array.from({ length: count }, () => begin(preview, `/bytes?count=${bytes}`, { protocol, deadlineMs: 110_000 })),
  );
  try {
    expect((await visit(preview, '/bytes?count=1000000', { protocol })).text).toHaveLength(1_000_000);
    expect(await output(service, id, 'head -c 100000 /dev/zero | wc -c')).toBe('100000');
  } finally {
    for (const { body } of stalled) body.on('error', () => {}).destroy();
  }
});

it.each(protocols)(`a server that does not read ${stuck} bodies holds nobody else up, over %s`, async (protocol) => {
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
  const stalled = bodies.map((body) =>
    begin(preview, '/never', { method: 'POST', body, protocol, deadlineMs: 110_000 }),
  );
  try {
    let before = -1;
    const isStill = () => {
      const still = taken > stuck && taken === before;
      before = taken;
      return still;
    };
    await expect.poll(isStill, { interval: 500, timeout: 60_000 }).toBe(true);
    const upload = { method: 'POST', body: Buffer.alloc(1_000_000), protocol };
    expect(await visitJson(preview, '/drop', upload)).toEqual({ bytes: 1_000_000 });
    expect(await output(service, id, 'head -c 100000 /dev/zero | wc -c')).toBe('100000');
  } finally {
    for (const body of bodies) body.destroy(new Error('enough'));
    await Promise.allSettled(stalled);
  }
});
