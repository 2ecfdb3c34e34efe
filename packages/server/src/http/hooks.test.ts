import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { stubService } from '../../test/app/stub-service.ts';

let service: Awaited<ReturnType<typeof stubService>>;
beforeAll(async () => {
  service = await stubService({}, { MAYFLY_LOG_LEVEL: 'info' });
});
afterAll(() => service[Symbol.asyncDispose]());

/** The log line of the request with this id. */
const lineOf = (id: string) => service.logged.find(({ request_id }) => request_id === id);

test('the log line of a request names its account, key, source and result', async () => {
  const { id } = (await service.call('POST', '/v1/sandboxes', undefined, { 'x-request-id': 'a' })).body;
  expect(lineOf('a')).toMatchObject({
    event: 'request_answered',
    account_id: 'acct_test',
    key_id: 'key_test',
    source: '127.0.0.1',
    sandbox_id: id,
    status: 201,
  });
});

test.each([
  ['true', '1.1.1.1, 198.51.100.7', '198.51.100.7'],
  ['true', 'x'.repeat(5_000), '127.0.0.1'],
  ['127.0.0.1,10.0.0.0/8', '1.1.1.1, 198.51.100.7, 10.0.0.9', '198.51.100.7'],
  ['false', '198.51.100.7', '127.0.0.1'],
])(
  'with MAYFLY_TRUST_PROXY=%s the source of a request is the nearest hop that is not trusted',
  async (trust, chain, source) => {
    const behindProxy = await stubService({}, { MAYFLY_LOG_LEVEL: 'info', MAYFLY_TRUST_PROXY: trust });
    await behindProxy.call('GET', '/v1/account', undefined, { 'x-forwarded-for': chain });
    expect(behindProxy.logged.at(-1)).toMatchObject({ event: 'request_answered', source });
    await behindProxy[Symbol.asyncDispose]();
  },
);

test('a caller that hangs up before its response does not avoid the audit trail', async () => {
  const listening = await stubService();
  const url = new URL(await listening.app.listen({ port: 0, host: '127.0.0.1' }));
  const launching = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  listening.driver.beforeLaunched = async () => {
    launching.resolve();
    await release.promise;
  };
  const socket = connect({ host: url.hostname, port: Number(url.port) });
  socket.write(
    `POST /v1/sandboxes HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${listening.key}\r\ncontent-length: 0\r\n\r\n`,
  );
  await launching.promise;
  socket.resetAndDestroy();
  await once(socket, 'close');
  release.resolve();
  await expect
    .poll(async () => {
      await listening.core.audit.flush();
      return await listening.store.audit.list({ limit: 10 });
    })
    .toMatchObject([{ action: 'createSandbox', result: { status: 201 } }]);
  await listening[Symbol.asyncDispose]();
});

test('a client cannot escape its window by inventing addresses behind a trusted proxy', async () => {
  const settings = { MAYFLY_TRUST_PROXY: 'true', MAYFLY_LIMIT_SOURCE_REQUESTS_PER_MINUTE: '3' };
  const behindProxy = await stubService({}, settings);
  const statuses: number[] = [];
  for (let index = 0; index < 5; index++) {
    const headers = { 'x-forwarded-for': `203.0.113.${index}, 198.51.100.7` };
    statuses.push((await behindProxy.call('GET', '/v1/account', undefined, headers)).status);
  }
  expect(statuses).toEqual([200, 200, 200, 429, 429]);
  await behindProxy[Symbol.asyncDispose]();
});

test('a request with a revoked key is logged with the id of the key, one with an unknown key without', async () => {
  await service.call('GET', '/v1/account', undefined, { 'x-request-id': 'b', authorization: 'Bearer mf_unknown' });
  expect(lineOf('b')).toMatchObject({ source: '127.0.0.1', error_type: 'invalid_api_key' });
  expect(lineOf('b')).not.toHaveProperty('key_id');
  await service.core.store.accounts.revokeKey('acct_test', 'key_test', 1);
  await service.call('GET', '/v1/account', undefined, { 'x-request-id': 'c' });
  expect(lineOf('c')).toMatchObject({ account_id: 'acct_test', key_id: 'key_test', error_type: 'invalid_api_key' });
  expect(JSON.stringify(service.logged)).not.toContain('mf_');
});
