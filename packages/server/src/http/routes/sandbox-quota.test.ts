import { afterEach, beforeEach, expect, test } from 'vitest';
import { stubService } from '../../../test/app/stub-service.ts';
import { hashApiKey } from '../../core/accounts/api-keys.ts';

let service: Awaited<ReturnType<typeof stubService>>;
beforeEach(async () => {
  service = await stubService();
});
afterEach(() => service[Symbol.asyncDispose]());

const create = (headers: Record<string, string> = {}) => service.call('POST', '/v1/sandboxes', {}, headers);
const tally = (answers: readonly { readonly status: number }[]) =>
  Object.fromEntries([201, 429, 503].map((code) => [code, answers.filter(({ status }) => status === code).length]));

test('30 simultaneous creates give 20 sandboxes and 10 refusals', async () => {
  const answers = await Promise.all(Array.from({ length: 30 }, () => create()));
  expect(tally(answers)).toEqual({ 201: 20, 429: 10, 503: 0 });
  const refused = answers.filter(({ status }) => status === 429);
  expect(new Set(refused.map(({ body }) => body.error.type))).toEqual(new Set(['quota_exceeded']));
  expect(refused.every(({ headers }) => Number(headers['retry-after']) > 0)).toBe(true);
  expect(service.driver.machines).toHaveLength(20);
});

test('a deleted or failed sandbox frees quota; a replay needs none', async () => {
  const first = await create({ 'idempotency-key': 'k' });
  for (let count = 1; count < 20; count++) await create();
  expect((await create()).status).toBe(429);
  expect((await create({ 'idempotency-key': 'k' })).status).toBe(200);
  await service.call('DELETE', `/v1/sandboxes/${first.body.id}`);
  expect((await create()).status).toBe(201);
  service.driver.newest.die('powered off');
  await expect.poll(async () => (await create()).status).toBe(201);
});

test('a service at machine capacity answers 503 until a machine is destroyed', async () => {
  await using small = await stubService({}, { MAYFLY_MAX_MACHINES: '2' });
  const answers = await Promise.all(Array.from({ length: 5 }, () => small.call('POST', '/v1/sandboxes')));
  expect(tally(answers)).toEqual({ 201: 2, 429: 0, 503: 3 });
  const refused = answers.find(({ status }) => status === 503);
  expect(refused?.body.error.type).toBe('capacity_unavailable');
  expect(refused?.headers['retry-after']).toBeUndefined();
  const listed = await small.call('GET', '/v1/sandboxes?include_deleted=true');
  expect(listed.body.data).toHaveLength(2);
  await small.call('DELETE', `/v1/sandboxes/${listed.body.data[0]?.id}`);
  expect((await small.call('POST', '/v1/sandboxes')).status).toBe(201);
});

test('an account at its quota is told so, also when the service is at machine capacity', async () => {
  await using full = await stubService({}, { MAYFLY_MAX_MACHINES: '1', MAYFLY_LIMIT_CONCURRENT_SANDBOXES: '1' });
  expect((await full.call('POST', '/v1/sandboxes')).status).toBe(201);
  const refused = await full.call('POST', '/v1/sandboxes');
  expect([refused.status, refused.body.error.type]).toEqual([429, 'quota_exceeded']);
});

test('quota and maximum lifetime can be set for one account', async () => {
  await service.core.store.accounts.setLimits('acct_test', { concurrentSandboxes: 1, maxTimeoutMinutes: 30 });
  const { body } = await service.call('GET', '/v1/account');
  expect(body).toMatchObject({ limits: { concurrent_sandboxes: 1, max_timeout_minutes: 30 } });
  const tooLong = await service.call('POST', '/v1/sandboxes', { timeout_minutes: 31 });
  expect(tooLong.body.error.message).toBe('timeout_minutes must be an integer from 1 to 30');
  const made = await service.call('POST', '/v1/sandboxes', { timeout_minutes: 30 });
  expect([made.status, (await create()).status]).toEqual([201, 429]);
  await service.core.store.accounts.setLimits('acct_test', { concurrentSandboxes: 2, maxTimeoutMinutes: 10 });
  expect((await create()).body.timeout_minutes).toBe(10);
});

test('an account at its quota does not limit another account', async () => {
  const key = { id: 'key_2', hash: hashApiKey('mf_second'), prefix: 'mf_' };
  const second = { id: 'acct_second', email: 'b@localhost', openingCreditMicroUsd: 1_000_000, createdAtMs: 0, key };
  await service.core.store.accounts.create(second);
  await service.core.store.accounts.setLimits('acct_test', { concurrentSandboxes: 1 });
  expect([(await create()).status, (await create()).status]).toEqual([201, 429]);
  expect((await create({ authorization: 'Bearer mf_second' })).status).toBe(201);
});
