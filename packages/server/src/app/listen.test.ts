import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { stubService } from '../../test/app/stub-service.ts';
import { StartFailure } from '../process/start-failure.ts';
import { listen, localUrlOf, refuseOtherPort } from './listen.ts';

const config = { host: 'localhost', port: 0, inheritedSockets: {}, apiTls: false, publicUrl: undefined } as const;

test('every address of localhost is served by one server, with the same limits and errors', async () => {
  const service = await stubService({}, {}, { connections: { connectionsPerSource: 1 } });
  const addresses = ['127.0.0.1', '127.0.0.2', '127.0.0.1', '192.0.2.1'];
  const { port } = new URL(await listen(service.app, config, async () => addresses));
  for (const host of ['127.0.0.1', '127.0.0.2']) {
    const response = await fetch(`http://${host}:${port}/healthz`, { headers: { connection: 'close' } });
    expect([host, response.status]).toEqual([host, 200]);
  }
  const localAddress = '127.0.0.3';
  const second = connect({ host: '127.0.0.2', port: Number(port), localAddress });
  await once(second, 'connect');
  expect(await text(connect({ host: '127.0.0.1', port: Number(port), localAddress }))).toBe('');
  second.write('HELLO\r\n\r\n');
  expect(await text(second)).toContain('"type":"request_error"');
  await service[Symbol.asyncDispose]();
});

test('the API stops although a client keeps an idle connection to the second address open', async () => {
  const service = await stubService();
  const { port } = new URL(await listen(service.app, config, async () => ['127.0.0.1', '127.0.0.2']));
  const idle = connect({ host: '127.0.0.2', port: Number(port) });
  idle.write('GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n');
  await once(idle, 'data');
  await Promise.all([once(idle, 'close'), service[Symbol.asyncDispose]()]);
  await expect(fetch(`http://127.0.0.2:${port}/healthz`)).rejects.toThrow();
});

test.each([
  ['0.0.0.0', {}, 'http://127.0.0.1:'],
  ['127.0.0.2', { publicUrl: 'https://mayfly.example.com' }, 'http://127.0.0.2:'],
  ['127.0.0.1', { apiTls: true }, 'https://127.0.0.1:'],
  ['127.0.0.1', { apiTls: true, publicUrl: 'https://mayfly.example.com' }, 'https://mayfly.example.com'],
])('on %s with %j, processes on this host use an address of this service', async (host, settings, expected) => {
  const service = await stubService();
  await listen(service.app, { ...config, host });
  const url = localUrlOf(service.app, { ...config, ...settings });
  expect(url.replace(/(?<=:)\d+$/, '')).toBe(expected);
  if (url.startsWith('http:')) expect((await fetch(`${url}/healthz`)).status).toBe(200);
  await service[Symbol.asyncDispose]();
});

test('a socket of systemd on another port than the configured one is refused, with what to do', () => {
  expect(() => refuseOtherPort(8080, 9090, 'MAYFLY')).toThrow(StartFailure);
  expect(() => refuseOtherPort(8443, 443, 'MAYFLY_PREVIEW')).toThrow(
    'systemd listens on port 8443, but MAYFLY_PREVIEW_PORT is 443. Run npx mayfly install-service again',
  );
  refuseOtherPort(8080, 8080, 'MAYFLY');
  refuseOtherPort(40_000, 0, 'MAYFLY');
});
