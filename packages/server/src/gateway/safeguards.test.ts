import { once } from 'node:events';
import type { ClientHttp2Session, IncomingHttpHeaders } from 'node:http2';
import { setTimeout } from 'node:timers/promises';
import type { TLSSocket } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { PreviewService } from '../../test/app/preview-service.ts';
import { pageOf, untilEnd, Visitor } from '../../test/gateway/visitor.ts';
import { machineDeathNoticedMs } from '../../test/promises.ts';
import { setSuspended } from '../core/accounts/manage-accounts.ts';
import { suspendAccount } from '../core/operators/operator-sandboxes.ts';
import { maxOpenPerSandbox } from '../core/previews/visits.ts';
import { expireSandboxes } from '../core/sandboxes/end.ts';

let service: PreviewService;
let visitor: Visitor;
beforeAll(async () => {
  service = await PreviewService.start();
  visitor = new Visitor(service.ca);
});
afterAll(() => service[Symbol.asyncDispose]());

/** The URL of another preview: same port, other name. */
const elsewhere = (url: URL, label: string) => new URL(`https://${label}.localhost:${url.port}/`);
const html = { accept: 'text/html,application/xhtml+xml' };

async function headersOf(session: ClientHttp2Session, headers: Record<string, string>): Promise<IncomingHttpHeaders> {
  const stream = session.request({ ':path': '/', ...headers });
  const [head] = await once(stream, 'response');
  stream.resume();
  return head;
}

describe('a preview that cannot be served', () => {
  test('answers an unknown token with 404: a page for browsers, JSON for others', async () => {
    const { url } = await service.serve((_request, response) => response.end('ok'));
    const unknown = elsewhere(url, 'a'.repeat(32));
    const page = await visitor.get(unknown, { headers: html });
    expect([page.status, page.headers['content-type']]).toEqual([404, 'text/html; charset=utf-8']);
    expect(page.text).toContain('No such preview');
    expect(page.headers['content-security-policy']).toContain("default-src 'none'");
    const other = await visitor.get(unknown);
    expect([other.status, JSON.parse(other.text).error.type]).toEqual([404, 'unknown']);
    expect(other.headers['x-mayfly-preview']).toBe('unknown');
  });

  test('reports that nothing listens, and waits for a server that is starting', async () => {
    const { url, server, port } = await service.serve((_request, response) => response.end('up'));
    server.close();
    const [page, other] = await Promise.all([visitor.get(url, { headers: html }), visitor.get(url)]);
    expect(page.status).toBe(502);
    expect(page.text).toContain(`Nothing is listening on port ${port} in the sandbox.`);
    expect(JSON.parse(other.text).error.type).toBe('nothing_listening');
    const waiting = visitor.get(url);
    await setTimeout(300);
    await service.listen((_request, response) => response.end('up'), port);
    expect((await waiting).text).toBe('up');
  }, 15_000);

  test('does not blame the sandbox for a database outage', async () => {
    const { url } = await service.serve((_request, response) => response.end('ok'));
    const outage = vi.spyOn(service.core.store.previews, 'findByToken').mockRejectedValueOnce(new Error('gone'));
    const page = await visitor.get(url);
    expect([page.status, JSON.parse(page.text).error.message]).toEqual([
      502,
      'The service cannot look up this preview right now. Try again in a moment.',
    ]);
    outage.mockRestore();
    expect((await visitor.get(url)).text).toBe('ok');
  });

  test('reports a dead machine at once and disconnects its visitors', async () => {
    const { url, sandboxId } = await service.serve((_request, response) => response.write('…'));
    const open = await visitor.open(url);
    const machine = service.driver.machines.find(({ id }) => id === sandboxId);
    const killedAtMs = Date.now();
    machine?.die('killed');
    await expect(pageOf(open)).rejects.toThrow('aborted');
    await expect.poll(async () => (await visitor.get(url)).status).toBe(502);
    expect(Date.now() - killedAtMs).toBeLessThan(machineDeathNoticedMs);
    expect(JSON.parse((await visitor.get(url)).text).error.message).toBe("The sandbox's machine has died.");
  });
});

describe('the end of a preview', () => {
  /** Runs the expiry sweep as it would run a day later. */
  const expireAll = () =>
    expireSandboxes({ ...service.core, clock: { nowMs: () => service.core.clock.nowMs() + 86_400_000 } });

  /** Opens one of each: a download, a WebSocket and an HTTP/2 session. */
  async function openEverything() {
    const { url, sandboxId, port, server } = await service.serve((_request, response) => void response.write('…'));
    server.on('upgrade', (_request, socket) =>
      socket.write('HTTP/1.1 101 ok\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n'),
    );
    const download = await visitor.open(url);
    const socket = await visitor.raw(url);
    socket.write(`GET / HTTP/1.1\r\nHost: ${url.host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n`);
    await once(socket, 'data');
    const session = visitor.http2(url);
    await once(session.request({ ':path': '/' }), 'response');
    return { url, sandboxId, port, server, open: [download, socket, session] as const };
  }

  test.each([
    [
      'closing it',
      (sandboxId: string, port: number) => service.call('DELETE', `/sandboxes/${sandboxId}/ports/${port}`),
    ],
    ['deleting the sandbox', (sandboxId: string) => service.call('DELETE', `/sandboxes/${sandboxId}`)],
    ['the expiry of the sandbox', expireAll],
    ['suspending the account', () => suspendAccount(service.core, 'admin@localhost')],
  ])('%s disconnects everything at once', async (_how, end) => {
    const { url, sandboxId, port, open } = await openEverything();
    const closed = open.map((thing) => new Promise((resolve) => thing.once('close', resolve).once('error', () => {})));
    for (const thing of open) if ('resume' in thing) thing.resume();
    await end(sandboxId, port);
    await Promise.all(closed);
    expect((await visitor.get(url)).status).toBe(404);
    expect(service.core.previewTraffic.countOf(sandboxId)).toBe(0);
    await setSuspended(service.core, 'admin@localhost', false);
  });

  test('a resumed account has its previews back', async () => {
    const { url } = await service.serve((_request, response) => response.end('ok'));
    await suspendAccount(service.core, 'admin@localhost');
    expect((await visitor.get(url)).status).toBe(404);
    await setSuspended(service.core, 'admin@localhost', false);
    expect((await visitor.get(url)).text).toBe('ok');
  });

  test('closes idle connections, and a new preview has a new URL', async () => {
    const { url, sandboxId, port } = await service.serve((_request, response) => response.end('ok'));
    const session = visitor.http2(url);
    expect(await headersOf(session, {})).toMatchObject({ ':status': 200 });
    await service.call('DELETE', `/sandboxes/${sandboxId}/ports/${port}`);
    if (!session.closed) await once(session, 'close');
    const again = await service.open(sandboxId, port);
    expect(again.hostname).not.toBe(url.hostname);
    expect((await visitor.get(again)).text).toBe('ok');
    expect((await visitor.get(url)).status).toBe(404);
  });

  test('closing one preview does not affect the others of the sandbox', async () => {
    const { url, sandboxId } = await service.serve((_request, response) => response.write('…'));
    const open = await visitor.open(url);
    await service.open(sandboxId, 9);
    await service.call('DELETE', `/sandboxes/${sandboxId}/ports/9`);
    expect(open.destroyed).toBe(false);
    open.destroy();
  });
});

describe('limits', () => {
  test('limits the open requests per sandbox; other sandboxes are served', async () => {
    const { url, sandboxId } = await service.serve((_request, response) => response.write('…'));
    const other = await service.serve((_request, response) => response.end('ok'));
    const sessions = Array.from({ length: 4 }, () => visitor.http2(url));
    const ask = (session: ClientHttp2Session) => once(session.request({ ':path': '/' }), 'response');
    const each = Array.from({ length: maxOpenPerSandbox / sessions.length });
    await Promise.all(sessions.flatMap((session) => each.map(() => ask(session))));
    expect(service.core.previewTraffic.countOf(sandboxId)).toBe(maxOpenPerSandbox);
    const refused = await visitor.get(url);
    expect([refused.status, refused.headers['retry-after']]).toEqual([503, '1']);
    expect((await visitor.get(other.url)).text).toBe('ok');
    for (const session of sessions) session.destroy();
    await expect.poll(() => service.core.previewTraffic.countOf(sandboxId)).toBe(0);
  });

  test('limits the size of headers', async () => {
    const { url } = await service.serve((_request, response) => response.end('ok'));
    expect((await visitor.get(url, { headers: { 'x-long': 'x'.repeat(60_000) } })).status).not.toBe(431);
    expect((await visitor.get(url, { headers: { 'x-long': 'x'.repeat(70_000) } })).status).toBe(431);
  });
});

describe('ambiguous requests and responses', () => {
  async function send(text: string): Promise<{ readonly received: string; readonly seen: string[] }> {
    const seen: string[] = [];
    const { url } = await service.serve((request, response) => {
      seen.push(`${request.method} ${request.url}`);
      response.end('ok');
    });
    const socket: TLSSocket = await visitor.raw(url);
    socket.write(text.replaceAll('HOST', url.host), 'latin1');
    return { received: await untilEnd(socket), seen };
  }

  test.each([
    ['two lengths', 'POST / HTTP/1.1\r\nHost: HOST\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\nabcde'],
    [
      'length and chunks',
      'POST / HTTP/1.1\r\nHost: HOST\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /x HTTP/1.1\r\n\r\n',
    ],
    ['an unknown coding', 'POST / HTTP/1.1\r\nHost: HOST\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n'],
    [
      'a coding in disguise',
      'POST / HTTP/1.1\r\nHost: HOST\r\nTransfer-Encoding: xchunked\r\nConnection: close\r\n\r\n0\r\n\r\n',
    ],
    ['a space before the colon', 'GET / HTTP/1.1\r\nHost: HOST\r\nX-A : b\r\n\r\n'],
    ['a folded line', 'GET / HTTP/1.1\r\nHost: HOST\r\nX-A: b\r\n c\r\nConnection: close\r\n\r\n'],
    ['two hosts', 'GET / HTTP/1.1\r\nHost: HOST\r\nHost: HOST\r\nConnection: close\r\n\r\n'],
    ['a whole URL as its path', 'GET http://169.254.169.254/ HTTP/1.1\r\nHost: HOST\r\nConnection: close\r\n\r\n'],
    ['CONNECT', 'CONNECT 127.0.0.1:22 HTTP/1.1\r\nHost: HOST\r\n\r\n'],
    ['a NUL in a header', 'GET / HTTP/1.1\r\nHost: HOST\r\nX-A: a\0b\r\n\r\n'],
  ])('%s does not get past the gateway', async (_what, text) => {
    const { received, seen } = await send(text);
    expect(received).toMatch(/^(HTTP\/1\.1 (400|501) |$)/);
    expect(seen).toEqual([]);
  });

  test('ignores an offer of another protocol and does not forward it', async () => {
    const { received, seen } = await send(
      'GET /a HTTP/1.1\r\nHost: HOST\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\nConnection: Upgrade, HTTP2-Settings, close\r\n\r\n',
    );
    expect(received).toMatch(/^HTTP\/1\.1 200 /);
    expect(seen).toEqual(['GET /a']);
  });

  test('a connection for one preview does not serve another one', async () => {
    const one = await service.serve((_request, response) => response.end('one'));
    const two = await service.serve((_request, response) => response.end('two'));
    const session = visitor.http2(one.url);
    expect(await headersOf(session, { ':authority': two.url.host })).toMatchObject({ ':status': 421 });
    session.destroy();
    const page = await visitor.get(one.url, { headers: { host: two.url.host } });
    expect(page.status).toBe(421);
  });

  test('TLS sessions are not resumed, so every connection carries its server name', async () => {
    const { url } = await service.serve((_request, response) => response.end('ok'));
    const other = await service.serve((_request, response) => response.end('other'));
    const first = await visitor.raw(url);
    const session = new Promise<Buffer | undefined>((resolve) => {
      first.once('session', resolve);
      first.once('close', () => resolve(undefined));
    });
    first.write(`GET / HTTP/1.1\r\nHost: ${url.host}\r\nConnection: close\r\n\r\n`);
    await untilEnd(first);
    const second = await visitor.raw(url, { session: await session });
    second.write(`GET / HTTP/1.1\r\nHost: ${other.url.host}\r\nConnection: close\r\n\r\n`);
    expect(second.isSessionReused()).toBe(false);
    expect(await untilEnd(second)).toMatch(/^HTTP\/1\.1 421 /);
  });

  test('answers 502 for a server that does not speak valid HTTP', async () => {
    const { url, server } = await service.serve(() => {});
    server.on('connection', (socket) =>
      socket.end('HTTP/1.1 200 OK\r\nX: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab'),
    );
    expect((await visitor.get(url)).status).toBe(502);
  });

  test('answers 502 for a server that sends endless headers', async () => {
    const { url, server } = await service.serve(() => {});
    server.on('connection', (socket) => {
      socket.on('error', () => {});
      socket.write('HTTP/1.1 200 OK\r\n');
      for (let line = 0; line < 20_000; line += 1) socket.write(`X-${line}: ${'x'.repeat(100)}\r\n`);
    });
    expect((await visitor.get(url)).status).toBe(502);
  });
});

test('no token is ever logged', async () => {
  const { url } = await service.serve((_request, response) => response.end('ok'));
  await visitor.get(url);
  const tokens = (await service.core.store.sandboxes.withStatus(['running'])).map(({ id }) =>
    service.core.store.previews.list(id),
  );
  const known = (await Promise.all(tokens)).flat().map(({ token }) => token);
  expect(known).toContain(url.hostname.split('.')[0]);
  const log = service.logged.join('');
  expect(log).toContain('preview_answered');
  for (const token of known) expect(log).not.toContain(token);
});
