import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { Agent } from 'node:https';
import { json, text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { PreviewService } from '../../test/app/preview-service.ts';
import { pageOf, untilEnd, Visitor } from '../../test/gateway/visitor.ts';
import { hashApiKey } from '../core/accounts/api-keys.ts';
import { maxCredentialParts } from '../core/accounts/authenticate.ts';
import { createAccount } from '../core/accounts/manage-accounts.ts';

let service: PreviewService;
let visitor: Visitor;
beforeAll(async () => {
  service = await PreviewService.start();
  visitor = new Visitor(service.ca);
});
afterAll(() => service[Symbol.asyncDispose]());

/** A JSON description of a request. */
function describeRequest({ method, url, headers }: IncomingMessage): string {
  return JSON.stringify({ method, url, headers });
}

test('forwards requests over HTTP/1.1 and HTTP/2 to a server that sees localhost as its host', async () => {
  const { url, port } = await service.serve((request, response) => {
    response.writeHead(201, { 'content-type': 'application/json', 'x-own': 'yes' });
    response.end(describeRequest(request));
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

test('keeps every API key of this service from sandboxes, whatever its prefix and the scheme, and forwards other credentials', async () => {
  const { url } = await service.serve((request, response) => response.end(request.headers.authorization ?? 'none'));
  const seenFor = async (authorization: string) => (await visitor.get(url, { headers: { authorization } })).text;
  const { account } = await createAccount(service.core, { email: 'ada@example.com', creditMicroUsd: 0 });
  const ownKey = 'an-own-key-without-the-usual-prefix';
  const oddKey = 'an-"odd";key=with,separators:and/more==';
  const shortKey = 'short-key';
  for (const key of [ownKey, oddKey, shortKey]) {
    const stored = { id: `key_${key.slice(0, 5)}`, hash: hashApiKey(key), prefix: key.slice(0, 3) };
    await service.core.store.accounts.addKey(account.id, stored, 0, 10);
  }
  const basic = (credentials: string) => `Basic ${Buffer.from(credentials).toString('base64')}`;
  const digest =
    'Digest username="ada", realm="a@example.com", nonce="dcd98b7102dd2f0e8b11d0f600bfb0c0", uri="/a", qop=auth';
  for (const key of [ownKey, oddKey, shortKey]) {
    expect(await seenFor(`Bearer ${key}`)).toBe('none');
    expect(await seenFor(`bearer   ${key} `)).toBe('none');
    expect(await seenFor(key)).toBe('none');
    expect(await seenFor(`Token ${key}`)).toBe('none');
    expect(await seenFor(basic(`${key}:`))).toBe('none');
    expect(await seenFor(basic(`x:${key}`))).toBe('none');
  }
  for (const scheme of [
    'Bearer "KEY"',
    "Token 'KEY'",
    'Token token="KEY"',
    'Bearer KEY, Basic YTpi',
    'Key id=1;key=KEY',
  ]) {
    expect([scheme, await seenFor(scheme.replace('KEY', ownKey))]).toEqual([scheme, 'none']);
  }
  expect(await seenFor(`Bearer YTpi, ${basic(`${ownKey}:x`)}`)).toBe('none');
  expect(await seenFor(digest.replace('ada', ownKey))).toBe('none');
  for (const unknown of ['Bearer mf_a_key_of_another_service', 'Token mf_x', basic('mf_x:')]) {
    expect(await seenFor(unknown)).toBe('none');
  }
  const { inAll, lookedUp } = maxCredentialParts;
  const partsOf = (count: number, text: string) => Array.from({ length: count }, (__, at) => `${text}${at}`).join(', ');
  expect(await seenFor(partsOf(lookedUp + 1, 'parameter-'))).toBe('none');
  expect(await seenFor(partsOf(inAll + 1, ''))).toBe('none');
  expect(await seenFor(partsOf(inAll, ''))).toBe(partsOf(inAll, ''));
  for (const other of [`Bearer ${ownKey}-2`, 'Bearer short', 'Basic YTpi', basic('ada:secret'), digest]) {
    expect(await seenFor(other)).toBe(other);
  }
  const session = visitor.http2(url);
  const stream = session.request({ ':path': '/', authorization: `Bearer ${ownKey}` });
  expect(await text(stream)).toBe('none');
  session.destroy();
  // Node shows the first of several headers only, but all of them would be forwarded.
  for (const second of [`Bearer ${ownKey}`, 'Basic Yzpk']) {
    const socket = await visitor.raw(url);
    const several = ['Basic YTpi', second].map((value) => `authorization: ${value}\r\n`).join('');
    socket.write(`GET / HTTP/1.1\r\nhost: ${url.host}\r\n${several}connection: close\r\n\r\n`);
    expect(await untilEnd(socket)).toMatch(/\r\n\r\n(?:4\r\n)?none/);
  }
});

test.each(['HTTP/1.1', 'HTTP/2'])('forwards bodies unchanged over %s', async (protocol) => {
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

test('streams requests and responses without buffering', async () => {
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

test.each(['GET', 'DELETE', 'POST'])('the body of a %s is never parsed as another request', async (method) => {
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
  expect((await visitor.get(url, { method, path: '/2', body, headers: { 'content-length': body.length } })).text).toBe(
    'ok',
  );
  const session = visitor.http2(url);
  const stream = session.request({ ':method': method, ':path': '/3' }, { endStream: false });
  stream.end(body);
  expect(await text(stream)).toBe('ok');
  session.destroy();
  expect(seen).toEqual(['/1', '/2', '/3'].map((path) => `${method} ${path} ${body}`));
});

test('a page does not tell its host to other sites, unless its server has a policy of its own', async () => {
  const { url } = await service.serve((request, response) => {
    response.writeHead(200, request.url === '/own' ? { 'referrer-policy': 'origin' } : {}).end();
  });
  expect((await visitor.get(url)).headers['referrer-policy']).toBe('same-origin');
  expect((await visitor.get(url, { path: '/own' })).headers['referrer-policy']).toBe('origin');
});

test('forwards empty responses, redirects and errors of the server', async () => {
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

test('reuses connections and retries a safe request on one that the server just closed', async () => {
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

test('a truncated response is reported as an error, not as complete', async () => {
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

test('disconnects from the server when the visitor leaves', async () => {
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

test('forwards a WebSocket in both directions', async () => {
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
  let received = '';
  socket.on('data', (bytes) => {
    received += bytes;
  });
  await expect.poll(() => received).toMatch(/^HTTP\/1\.1 101 .*\r\nx-own: yes\r\n\r\nfirst early$/s);
  socket.write(' and more');
  await expect.poll(() => received).toMatch(/first early and more$/);
  const { headers } = await seen.promise;
  expect(headers).toMatchObject({
    origin: `http://localhost:${port}`,
    'sec-websocket-key': 'x',
    host: `localhost:${port}`,
  });
  socket.destroy();
  await expect.poll(() => service.core.previewTraffic.count).toBe(0);
});

test("forwards the server's refusal of a WebSocket", async () => {
  const { url, server } = await service.serve(() => {});
  server.on('upgrade', (_request, socket) => socket.end('HTTP/1.1 403 Forbidden\r\nContent-Length: 4\r\n\r\nnope'));
  const answer = await visitor.open(url, { headers: { connection: 'Upgrade', upgrade: 'websocket' } });
  expect(await pageOf(answer)).toMatchObject({ status: 403, text: 'nope' });
});
