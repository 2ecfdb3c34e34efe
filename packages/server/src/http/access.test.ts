import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { stubService } from '../../test/app/stub-service.ts';
import { resultOf } from '../../test/core/stub-guest.ts';
import { hashApiKey } from '../core/accounts/api-keys.ts';

let service: Awaited<ReturnType<typeof stubService>>;
beforeEach(async () => {
  service = await stubService();
});
afterEach(() => service[Symbol.asyncDispose]());

const windowOf = ({ headers }: { readonly headers: Readonly<Record<string, unknown>> }) =>
  ['ratelimit-limit', 'ratelimit-remaining', 'ratelimit-reset', 'retry-after'].map((name) =>
    headers[name] === undefined ? '-' : Number(headers[name]),
  );

describe('account window', () => {
  test('120 requests pass, the next is refused until the minute is over', async () => {
    service.clock.advanceMs(12_300);
    for (let left = 119; left >= 0; left--) {
      const answer = await service.call('GET', '/v1/account');
      expect([answer.status, ...windowOf(answer)]).toEqual([200, 120, left, 48, '-']);
    }
    const refused = await service.call('GET', '/v1/account');
    expect([refused.status, refused.body.error.type]).toEqual([429, 'rate_limit_exceeded']);
    expect(windowOf(refused)).toEqual([120, 0, 48, 48]);
    service.clock.advanceMs(47_699);
    expect(windowOf(await service.call('GET', '/v1/account'))).toEqual([120, 0, 1, 1]);
    service.clock.advanceMs(1);
    expect(windowOf(await service.call('GET', '/v1/account'))).toEqual([120, 119, 60, '-']);
  });

  test('all keys of the account and requests of every outcome share it', async () => {
    const second = { id: 'key_2', hash: hashApiKey('mf_second'), prefix: 'mf_' };
    await service.core.store.accounts.addKey('acct_test', second, 0, 10);
    await service.call('GET', '/v1/nothing');
    await service.call('POST', '/v1/sandboxes', '{');
    await service.call('GET', '/v1/sandboxes?limit=0');
    const answer = await service.call('GET', '/v1/account', undefined, { authorization: 'Bearer mf_second' });
    expect(windowOf(answer)).toEqual([120, 116, 60, '-']);
  });

  test('of many simultaneous requests, exactly the limit passes', async () => {
    const answers = await Promise.all(Array.from({ length: 150 }, () => service.call('GET', '/v1/account')));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(120);
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(30);
  });

  test('a limit set for one account applies from the next request', async () => {
    await service.call('GET', '/v1/account');
    await service.core.store.accounts.setLimits('acct_test', { requestsPerMinute: 2 });
    expect(windowOf(await service.call('GET', '/v1/account'))).toEqual([2, 0, 60, '-']);
    expect((await service.call('GET', '/v1/account')).status).toBe(429);
  });
});

describe('creation window', () => {
  test('counts every authenticated create, valid or not; the 41st is refused and its headers describe this window', async () => {
    for (let count = 0; count < 40; count++) {
      const answer = await service.call('POST', '/v1/sandboxes', { size: 'tiny' });
      expect([answer.status, ...windowOf(answer)]).toEqual([400, 120, 119 - count, 60, '-']);
    }
    const refused = await service.call('POST', '/v1/sandboxes');
    expect([refused.status, refused.body.error.type]).toEqual([429, 'rate_limit_exceeded']);
    expect(windowOf(refused)).toEqual([40, 0, 60, 60]);
    expect((await service.call('GET', '/v1/sandboxes')).status).toBe(200);
  });
});

describe('source-address window', () => {
  test('counts before authentication: the 301st request from an address is refused', async () => {
    const stranger = { authorization: '' };
    for (let left = 299; left >= 0; left--) {
      const answer = await service.call('GET', '/v1/account', undefined, stranger);
      expect([answer.status, ...windowOf(answer)]).toEqual([401, 300, left, 60, '-']);
    }
    const refused = await service.call('GET', '/v1/account');
    expect([refused.status, refused.body.error.type]).toEqual([429, 'rate_limit_exceeded']);
    expect(windowOf(refused)).toEqual([300, 0, 60, 60]);
    const other = await service.app.inject({ method: 'GET', url: '/v1/account', remoteAddress: '198.51.100.9' });
    expect(other.statusCode).toBe(401);
  });

  test('a forwarded address is used only if the proxy is trusted', async () => {
    const forwarded = { 'x-forwarded-for': '203.0.113.5' };
    await service.call('GET', '/v1/account', undefined, { ...forwarded, authorization: '' });
    const direct = await service.call('GET', '/v1/account', undefined, { authorization: '' });
    expect(windowOf(direct)[1]).toBe(298);
    await using behind = await stubService({}, { MAYFLY_TRUST_PROXY: '127.0.0.1' });
    await behind.call('GET', '/v1/account', undefined, { ...forwarded, authorization: '' });
    const other = await behind.call('GET', '/v1/account', undefined, { authorization: '' });
    expect(windowOf(other)[1]).toBe(299);
  });
});

describe('a URL that cannot be decoded', () => {
  test('needs a key and is counted in the window of the account', async () => {
    const stranger = await service.call('GET', '/v1/%zz', undefined, { authorization: '' });
    expect([stranger.status, ...windowOf(stranger)]).toEqual([401, 300, 299, 60, '-']);
    const answer = await service.call('GET', '/v1/%zz');
    expect([answer.status, answer.body.error.type]).toEqual([400, 'request_error']);
    expect(windowOf(answer)).toEqual([120, 119, 60, '-']);
  });

  test('is limited per account', async () => {
    await service.core.store.accounts.setLimits('acct_test', { requestsPerMinute: 1 });
    expect((await service.call('GET', '/v1/%zz')).status).toBe(400);
    expect(windowOf(await service.call('GET', '/v1/%zz'))).toEqual([1, 0, 60, 60]);
  });

  test('is limited per source address', async () => {
    await using limited = await stubService({}, { MAYFLY_LIMIT_SOURCE_REQUESTS_PER_MINUTE: '1' });
    expect((await limited.call('GET', '/%zz')).status).toBe(400);
    const refused = await limited.call('GET', '/v1/%zz');
    expect([refused.status, refused.body.error.type, ...windowOf(refused)]).toEqual([
      429,
      'rate_limit_exceeded',
      ...[1, 0, 60, 60],
    ]);
  });
});

describe('a response that is sent in a later window than its request', () => {
  test('describes the window that is current when it is sent', async () => {
    const { id } = (await service.call('POST', '/v1/sandboxes')).body;
    const started = Promise.withResolvers<void>();
    const finish = Promise.withResolvers<void>();
    service.connector.command = async () => {
      started.resolve();
      await finish.promise;
      return resultOf();
    };
    service.clock.advanceMs(50_000);
    const long = service.call('POST', `/v1/sandboxes/${id}/exec`, { command: 'sleep 30' });
    await started.promise;
    service.clock.advanceMs(30_000);
    expect(windowOf(await service.call('GET', '/v1/account'))).toEqual([120, 119, 40, '-']);
    finish.resolve();
    expect(windowOf(await long)).toEqual([120, 119, 40, '-']);
  });
});

describe('pages of any origin can read', () => {
  const fromPage = { origin: 'https://a.example' };
  const readable = {
    'access-control-allow-origin': '*',
    'access-control-expose-headers': expect.stringContaining('Retry-After'),
  };

  test('a 429 of the source-address window', async () => {
    await using limited = await stubService({}, { MAYFLY_LIMIT_SOURCE_REQUESTS_PER_MINUTE: '1' });
    await limited.call('GET', '/v1/account');
    const refused = await limited.call('GET', '/v1/account', undefined, fromPage);
    expect([refused.status, refused.headers]).toEqual([429, expect.objectContaining(readable)]);
  });

  test.each([
    { url: '/v1/%zz', status: 400 },
    { url: `/v1/sandboxes/${'x'.repeat(20_000)}`, status: 414 },
  ])('an error before any handler: $status', async ({ url, status }) => {
    const answer = await service.call('GET', url, undefined, fromPage);
    expect([answer.status, answer.headers]).toEqual([status, expect.objectContaining(readable)]);
  });

  test('an error of the HTTP parser, which is counted and limited too', async () => {
    await using limited = await stubService({}, { MAYFLY_LIMIT_SOURCE_REQUESTS_PER_MINUTE: '1' });
    const { port } = new URL(await limited.app.listen({ port: 0, host: '127.0.0.1' }));
    const answers = [];
    for (const _ of [1, 2]) {
      const socket = connect(Number(port), '127.0.0.1');
      socket.write(`GET / HTTP/1.1\r\nhost: x\r\nx-long: ${'x'.repeat(20_000)}\r\n\r\n`);
      answers.push(await text(socket));
    }
    expect(answers[0]).toMatch(/^HTTP\/1.1 431 /);
    expect(answers[1]).toMatch(/^HTTP\/1.1 429 /);
    expect(answers[1]).toMatch(/\r\nretry-after: \d+\r\n/);
    for (const answer of answers) expect(answer).toContain('access-control-allow-origin: *\r\n');
  });
});

test('a connection that changes its key is authenticated by the new key', async () => {
  const { port } = new URL(await service.app.listen({ port: 0, host: '127.0.0.1' }));
  const socket = connect(Number(port), '127.0.0.1');
  const request = (key: string, connection: string) =>
    `GET /v1/account HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\nconnection: ${connection}\r\n\r\n`;
  socket.write(request(service.key, 'keep-alive') + request('mf_other', 'keep-alive') + request(service.key, 'close'));
  const statuses = (await text(socket)).match(/HTTP\/1.1 \d+/g);
  expect(statuses).toEqual(['HTTP/1.1 200', 'HTTP/1.1 401', 'HTTP/1.1 200']);
});
