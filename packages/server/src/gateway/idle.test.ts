import { once } from 'node:events';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { PreviewService } from '../../test/app/preview-service.ts';
import { pageOf, untilEnd, Visitor } from '../../test/gateway/visitor.ts';

let service: PreviewService;
let visitor: Visitor;
beforeAll(async () => {
  service = await PreviewService.start({}, { idleMs: 3_000, keepAliveMs: 1_000, handshakeMs: 3_000 });
  visitor = new Visitor(service.ca);
});
afterAll(() => service[Symbol.asyncDispose]());

test('aborts a silent response over HTTP/1.1 and HTTP/2', async () => {
  const { url, sandboxId } = await service.serve((_request, response) => response.write('…'));
  await expect(pageOf(await visitor.open(url))).rejects.toThrow();
  const session = visitor.http2(url);
  const stream = session.request({ ':path': '/' });
  stream.on('error', () => {});
  await new Promise((resolve) => stream.resume().once('close', resolve));
  await expect.poll(() => service.core.previewTraffic.countOf(sandboxId)).toBe(0);
});

test('keeps a response that makes progress', async () => {
  const { url } = await service.serve((_request, response) => {
    let left = 6;
    const timer = setInterval(() => {
      left -= 1;
      if (left > 0) response.write('tick ');
      else response.end('done', () => clearInterval(timer));
    }, 100);
  });
  expect((await visitor.get(url)).text).toBe('tick tick tick tick tick done');
});

test('closes an idle WebSocket', async () => {
  const { url, server } = await service.serve(() => {});
  server.on('upgrade', (_request, socket) => {
    socket.on('error', () => {});
    socket.write('HTTP/1.1 101 ok\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n');
  });
  const socket = await visitor.raw(url);
  socket.write(`GET / HTTP/1.1\r\nHost: ${url.host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n`);
  expect(await untilEnd(socket)).toMatch(/^HTTP\/1\.1 101 /);
});

test('closes a connection without requests', async () => {
  const { url } = await service.serve((_request, response) => response.end('ok'));
  const session = visitor.http2(url);
  const stream = session.request({ ':path': '/' });
  await once(stream.resume(), 'end');
  if (!session.closed) await once(session, 'close');
  expect(session.destroyed).toBe(true);
  const socket = await visitor.raw(url);
  expect(await untilEnd(socket)).toBe('');
  expect(socket.destroyed).toBe(true);
});

test('limits the connections per preview', async () => {
  await using patient = await PreviewService.start({}, { connectionsPerName: 3 });
  const visitor = new Visitor(patient.ca);
  const { url } = await patient.serve((_request, response) => response.write('…'));
  const other = await patient.serve((_request, response) => response.end('ok'));
  const open = await Promise.all([visitor.open(url), visitor.open(url), visitor.open(url)]);
  await expect(visitor.open(url)).rejects.toThrow();
  expect((await visitor.get(other.url)).text).toBe('ok');
  for (const answer of open) answer.destroy();
});
