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

test('a request with a revoked key is logged with the id of the key, one with an unknown key without', async () => {
  await service.call('GET', '/v1/account', undefined, { 'x-request-id': 'b', authorization: 'Bearer mf_unknown' });
  expect(lineOf('b')).toMatchObject({ source: '127.0.0.1', error_type: 'invalid_api_key' });
  expect(lineOf('b')).not.toHaveProperty('key_id');
  await service.core.store.accounts.revokeKey('acct_test', 'key_test', 1);
  await service.call('GET', '/v1/account', undefined, { 'x-request-id': 'c' });
  expect(lineOf('c')).toMatchObject({ account_id: 'acct_test', key_id: 'key_test', error_type: 'invalid_api_key' });
  expect(JSON.stringify(service.logged)).not.toContain('mf_');
});
