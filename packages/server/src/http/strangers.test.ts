import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { stubService } from '../../test/app/stub-service.ts';
import { clientHelloFloods, clientHelloFor, sendAtOnce } from '../../test/client-hello.ts';
import { RecordedLog } from '../../test/recorded-log.ts';
import { openRefusedConnections } from '../../test/refused-connections.ts';
import { openCertificates } from '../gateway/tls/open-certificates.ts';
import { handshakePace } from './app.ts';

const logOn = { MAYFLY_LOG_LEVEL: 'info' };
const health = 'GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n';

describe('connections of one source address', () => {
  async function listening(
    connections: { connectionsPerSource?: number; newConnectionsBurst?: number },
    settings = {},
  ) {
    const service = await stubService({}, { ...logOn, ...settings }, { connections });
    const { port } = new URL(await service.app.listen({ port: 0, host: '127.0.0.1' }));
    const open = async (localAddress: string) => {
      const socket = connect({ host: '127.0.0.1', port: Number(port), localAddress });
      socket.on('error', () => {});
      await once(socket, 'connect');
      return socket;
    };
    /** What the service answers on a new connection; nothing if it refuses the connection. */
    const ask = async (localAddress: string) => {
      const socket = await open(localAddress);
      socket.write(health);
      return text(socket).catch(() => '');
    };
    return { service, open, ask };
  }

  test('are closed beyond the limit, counted and logged; another address is served', async () => {
    const { service, open, ask } = await listening({ connectionsPerSource: 2 });
    const held = [await open('127.0.0.1'), await open('127.0.0.1')];
    expect(await ask('127.0.0.1')).toBe('');
    expect(await ask('127.0.0.2')).toContain('HTTP/1.1 200');
    const { body } = await service.app.inject('/metrics');
    expect(body).toContain('mayfly_connections_refused_total{port="api"} 1');
    expect(service.logged).toContainEqual(
      expect.objectContaining({ event: 'connection_refused', port: 'api', source: '127.0.0.1' }),
    );
    for (const socket of held) socket.destroy();
    await vi.waitFor(async () => expect(await ask('127.0.0.1')).toContain('HTTP/1.1 200'));
    await service[Symbol.asyncDispose]();
  });

  test('are limited in how many are opened at once, unless it is a proxy that the operator has named', async () => {
    const limits = { newConnectionsBurst: 2, newConnectionsPerSecond: 0 };
    const direct = await listening(limits);
    const answers = [await direct.ask('127.0.0.1'), await direct.ask('127.0.0.1'), await direct.ask('127.0.0.1')];
    expect(answers.map((answer) => answer.slice(9, 12))).toEqual(['200', '200', '']);
    await direct.service[Symbol.asyncDispose]();
    const proxied = await listening(limits, { MAYFLY_TRUST_PROXY: '127.0.0.1' });
    for (let at = 0; at < 3; at += 1) expect(await proxied.ask('127.0.0.1')).toContain('HTTP/1.1 200');
    await proxied.service[Symbol.asyncDispose]();
  });
});

test.each(clientHelloFloods)(
  'a flood of TLS handshakes %s is handled a few per turn of the event loop',
  async (_, servername, before) => {
    const folder = await mkdtemp(join(tmpdir(), 'mayfly-strangers-'));
    using certificates = await openCertificates({
      domain: 'localhost',
      dataDir: folder,
      files: undefined,
      log: new RecordedLog(),
    });
    const contextFor = certificates.contextFor.bind(certificates);
    const service = await stubService({}, {}, { tls: { ...(await certificates.defaultPair()), contextFor } });
    const { port } = new URL(await service.app.listen({ port: 0, host: '127.0.0.1' }));
    const clientHello = await clientHelloFor(servername);
    // The certificate for the name is made first.
    await sendAtOnce(Number(port), 1, clientHello);
    const perTurn = await sendAtOnce(Number(port), 60, clientHello, before);
    expect(perTurn.reduce((sum, count) => sum + count, 0)).toBe(60);
    // Four, and four of the next turn.
    expect(Math.max(...perTurn)).toBeLessThanOrEqual(2 * handshakePace.perTurn);
    await service[Symbol.asyncDispose]();
    await rm(folder, { recursive: true });
  },
);

describe('routes outside /v1', () => {
  test('take four times as many requests of one source address as those below it, then answer 429', async () => {
    const service = await stubService({}, { MAYFLY_LIMIT_SOURCE_REQUESTS_PER_MINUTE: '2' });
    const ask = (url: string) => service.app.inject({ url, remoteAddress: '198.51.100.1' });
    for (const url of ['/healthz', '/docs', '/openapi.json', '/preview-root.crt', '/metrics', '/x', '/v2/x', '/v1x']) {
      expect([url, (await ask(url)).statusCode]).not.toEqual([url, 429]);
    }
    for (const url of ['/healthz', '/docs', '/openapi.json', '/preview-root.crt', '/metrics', '/x']) {
      const { statusCode, headers, json } = await ask(url);
      expect([url, statusCode, json().error.type]).toEqual([url, 429, 'rate_limit_exceeded']);
      expect(Number(headers['retry-after'])).toBeGreaterThan(0);
    }
    expect((await ask('/v1/account')).statusCode).toBe(401);
    expect((await service.app.inject('/healthz')).statusCode).toBe(200);
    service.clock.advanceMs(60_000);
    expect((await ask('/healthz')).statusCode).toBe(200);
    await service[Symbol.asyncDispose]();
  });
});

describe('the log', () => {
  afterEach(() => void vi.useRealTimers());

  test.each([
    ['with an unknown key', 'request_answered', '/v1/account'],
    ['to an unknown path', 'request_answered', '/x'],
    ['with a malformed URL', 'request_refused', '/%zz'],
  ])('has ten lines in a second of requests %s, and every request of an account', async (_, event, url) => {
    vi.useFakeTimers({ toFake: ['performance'] });
    const service = await stubService({}, logOn);
    const lines = () => service.logged.filter((line) => line.event === event && line.account_id === undefined);
    for (let at = 0; at < 30; at += 1) await service.app.inject(url);
    expect(lines()).toHaveLength(10);
    for (let at = 0; at < 30; at += 1) await service.call('GET', '/v1/account');
    expect(service.logged.filter((line) => line.account_id !== undefined)).toHaveLength(30);
    vi.advanceTimersByTime(1_001);
    await service.app.inject(url);
    expect(lines().at(-1)).toMatchObject({ suppressed: 20 });
    await service[Symbol.asyncDispose]();
  });

  test.each([
    ['window', 'GET', '/v1/account', 200, { MAYFLY_LIMIT_REQUESTS_PER_MINUTE: '1' }],
    ['quota', 'POST', '/v1/sandboxes', 201, { MAYFLY_LIMIT_CONCURRENT_SANDBOXES: '1' }],
  ] as const)(
    'has ten lines in a second of requests of an account beyond its %s',
    async (_, method, url, first, limit) => {
      vi.useFakeTimers({ toFake: ['performance'] });
      const service = await stubService({}, { ...logOn, ...limit });
      for (let at = 0; at < 31; at += 1) await service.call(method, url);
      const lines = service.logged.filter((line) => line.event === 'request_answered');
      expect(lines.map((line) => line.status)).toEqual([first, ...Array.from({ length: 10 }, () => 429)]);
      await service[Symbol.asyncDispose]();
    },
  );

  test('has ten lines in a second of connections that are refused', async () => {
    const service = await stubService({}, logOn, { connections: { connectionsPerSource: 0 } });
    const { port } = new URL(await service.app.listen({ port: 0, host: '127.0.0.1' }));
    vi.useFakeTimers({ toFake: ['performance'] });
    await openRefusedConnections(Number(port), 30);
    expect(service.logged.filter((line) => line.event === 'connection_refused')).toHaveLength(10);
    await service[Symbol.asyncDispose]();
  });
});
