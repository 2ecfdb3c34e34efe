import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { Agent } from 'node:https';
import { json, text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { PreviewService } from '../../test/app/preview-service.ts';
import { pageOf, Visitor } from '../../test/gateway/visitor.ts';

let service: PreviewService;
let visitor: Visitor;
beforeAll(async () => {
  service = await PreviewService.start();
  visitor = new Visitor(service.ca);
});
afterAll(() => service[Symbol.asyncDispose]());

/** Answers with what it was asked. */
const mirror = (request: IncomingMessage) =>
  JSON.stringify({ method: request.method, url: request.url, headers: request.headers });

test('a page comes through over HTTP/1.1 and HTTP/2, and the server thinks it is at localhost', async () => {
  const { url, port } = await service.serve((request, response) => {
    response.writeHead(201, { 'content-type': 'application/json', 'x-own': 'yes' });
    response.end(mirror(request));
  });
  const seen = {
    method: 'GET',
    url: '/a%20b?c=d',
    headers: {
      host: `localhost:${port}`,
      'x-forwarded-for': '127.0.0.1',
      'x-forwarded-proto': 'https',
      'x-forwarded-host': `localhost:${port}`,
    },
  };
  const page = await visitor.get(url, { path: '/a%20b?c=d' });
  expect([page.status, page.headers['x-own']]).toEqual([201, 'yes']);
  expect(JSON.parse(page.text)).toMatchObject(seen);

  const session = visitor.http2(url);
  const stream = session.request({ ':path': '/a%20b?c=d', cookie: ['a=1', 'b=2'] });
  const [head] = await once(stream, 'response');
  expect([head[':status'], head['x-own']]).toEqual([201, 'yes']);
  const body = await json(stream);
  expect(body).toMatchObject(seen);
  expect(body).toMatchObject({ headers: { cookie: 'a=1; b=2' } });
  expect(JSON.stringify(body)).not.toContain(url.hostname.split('.')[0]);
  session.destroy();
});

test.each(['HTTP/1.1', 'HTTP/2'])('bytes go in and out as they are, over %s', async (protocol) => {
  const hashes: string[] = [];
  const { url } = await service.serve((request, response) => {
    const hash = createHash('sha256');
    request.on('data', (bytes) => hash.update(bytes));
    request.on('end', () => hashes.push(hash.digest('hex')));
    request.pipe(response);
  });
  const sent = randomBytes(20_000_000);
  const expected = createHash('sha256').update(sent).digest('hex');
  let received: Buffer;
  if (protocol === 'HTTP/1.1') received = (await visitor.get(url, { method: 'POST', body: sent })).body;
  else {
    const session = visitor.http2(url);
    const stream = session.request({ ':method': 'POST', ':path': '/' });
    stream.end(sent);
    received = Buffer.concat(await stream.toArray());
    session.destroy();
  }
  expect(createHash('sha256').update(received).digest('hex')).toBe(expected);
  expect(hashes).toEqual([expected]);
});

test('an answer and a request stream: each piece is there before the next is sent', async () => {
  const { url } = await service.serve((request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.flushHeaders();
    request.on('data', (bytes) => response.write(`data: ${bytes}\n\n`));
    request.on('end', () => response.end());
  });
  const session = visitor.http2(url);
  const stream = session.request({ ':method': 'POST', ':path': '/' });
  await once(stream, 'response');
  for (const word of ['one', 'two', 'three']) {
    stream.write(word);
    const [piece] = await once(stream, 'data');
    expect(String(piece)).toBe(`data: ${word}\n\n`);
  }
  stream.end();
  await once(stream, 'end');
  session.destroy();
});

test.each(['GET', 'DELETE', 'POST'])(
  'the body of a %s ends where the visitor ended it, and is not taken for a request',
  async (method) => {
    const seen: string[] = [];
    const { url } = await service.serve((request, response) => {
      void text(request).then((received) => {
        seen.push(`${request.method} ${request.url} ${received}`);
        return response.end('ok');
      });
    });
    const body = 'GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n';
    const headers = { 'transfer-encoding': 'chunked' };
    expect((await visitor.get(url, { method, path: '/1', body, headers })).text).toBe('ok');
    expect(
      (await visitor.get(url, { method, path: '/2', body, headers: { 'content-length': body.length } })).text,
    ).toBe('ok');
    const session = visitor.http2(url);
    const stream = session.request({ ':method': method, ':path': '/3' }, { endStream: false });
    stream.end(body);
    expect(await text(stream)).toBe('ok');
    session.destroy();
    expect(seen).toEqual(['/1', '/2', '/3'].map((path) => `${method} ${path} ${body}`));
  },
);

test('answers without a body, redirects and errors of the server are passed on', async () => {
  const { url, port } = await service.serve((request, response) => {
    if (request.url === '/redirect') response.writeHead(302, { location: `http://localhost:${port}/there` }).end();
    else if (request.url === '/empty') response.writeHead(204).end();
    else if (request.url === '/same') response.writeHead(304, { etag: '"x"' }).end();
    else
      response
        .writeHead(500, 'Whatever', { 'content-length': '4' })
        .end(request.method === 'HEAD' ? undefined : 'oops');
  });
  const redirect = await visitor.get(url, { path: '/redirect' });
  expect([redirect.status, redirect.headers.location]).toEqual([302, `${url.origin}/there`]);
  expect((await visitor.get(url, { path: '/empty' })).status).toBe(204);
  expect((await visitor.get(url, { path: '/same' })).headers.etag).toBe('"x"');
  expect(await visitor.get(url)).toMatchObject({ status: 500, text: 'oops' });
  const head = await visitor.get(url, { method: 'HEAD' });
  expect([head.status, head.headers['content-length'], head.text]).toEqual([500, '4', '']);
});

test('connections are kept on both sides; one that the server just closed costs nobody a request', async () => {
  let connections = 0;
  const { url, server } = await service.serve((_request, response) => response.end('ok'));
  server.on('connection', () => {
    connections += 1;
  });
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const get = async () => (await visitor.get(url, { agent })).text;
  for (let turn = 0; turn < 5; turn += 1) expect(await get()).toBe('ok');
  expect(connections).toBe(1);
  for (let turn = 0; turn < 5; turn += 1) {
    server.closeIdleConnections();
    expect(await get()).toBe('ok');
  }
  agent.destroy();
});

test('a server that breaks off in the middle is not mistaken for one that is done', async () => {
  const { url } = await service.serve((_request, response) => {
    response.writeHead(200, { 'content-length': '1000' });
    response.write('half');
    setImmediate(() => response.destroy());
  });
  await expect(pageOf(await visitor.open(url))).rejects.toThrow();
  const session = visitor.http2(url);
  await expect(text(session.request({ ':path': '/' }))).rejects.toThrow();
  session.destroy();
});

test('a visitor who leaves is gone for the server, too', async () => {
  const left = Promise.withResolvers<void>();
  const { url } = await service.serve((_request, response) => {
    response.writeHead(200).write('…');
    response.once('close', left.resolve);
  });
  const answer = await visitor.open(url);
  answer.destroy();
  await left.promise;
  await expect.poll(() => service.core.previewTraffic.count).toBe(0);
});

test('a WebSocket becomes bytes both ways', async () => {
  const { url, server, port } = await service.serve((_request, response) => response.writeHead(418).end('no'));
  const seen = Promise.withResolvers<IncomingMessage>();
  server.on('upgrade', (request, socket, head) => {
    seen.resolve(request);
    socket.write(
      'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nX-Own: yes\r\n\r\nfirst ',
    );
    socket.write(head);
    socket.pipe(socket);
  });
  const socket = await visitor.raw(url);
  const upgrade = `GET /ws HTTP/1.1\r\nHost: ${url.host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nOrigin: ${url.origin}\r\nSec-WebSocket-Key: x\r\n\r\nearly`;
  socket.write(upgrade);
  let heard = '';
  socket.on('data', (bytes) => {
    heard += bytes;
  });
  await expect.poll(() => heard).toMatch(/^HTTP\/1\.1 101 .*\r\nx-own: yes\r\n\r\nfirst early$/s);
  socket.write(' and more');
  await expect.poll(() => heard).toMatch(/first early and more$/);
  const { headers } = await seen.promise;
  expect(headers).toMatchObject({
    origin: `http://localhost:${port}`,
    'sec-websocket-key': 'x',
    host: `localhost:${port}`,
  });
  socket.destroy();
  await expect.poll(() => service.core.previewTraffic.count).toBe(0);
});

test("a server's refusal of a WebSocket is its own", async () => {
  const { url, server } = await service.serve(() => {});
  server.on('upgrade', (_request, socket) => socket.end('HTTP/1.1 403 Forbidden\r\nContent-Length: 4\r\n\r\nnope'));
  const answer = await visitor.open(url, { headers: { connection: 'Upgrade', upgrade: 'websocket' } });
  expect(await pageOf(answer)).toMatchObject({ status: 403, text: 'nope' });
});
