import { defaultLimits } from '@mayfly/contract';
import type { FastifyInstance } from 'fastify';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { randomIds } from '../core/ids/random-ids.ts';
import { noMetrics } from '../core/ports/metrics.ts';
import { systemClock } from '../core/ports/runtime.ts';
import type { Store } from '../core/ports/store/store.ts';
import { openSqliteStore } from '../store/sqlite/open.ts';
import { buildAdmin } from './build-admin.ts';

const log = pino({ level: 'silent' });
let store: Store;
let app: FastifyInstance;
beforeEach(async () => {
  store = await openSqliteStore(':memory:');
  app = buildAdmin({ store, log, metrics: noMetrics, clock: systemClock, ids: randomIds, limits: defaultLimits }, log);
  await call('POST', '/accounts', { email: 'ada@example.com', credit_usd: '0.1' });
});
afterEach(async () => {
  await app.close();
  await store.close();
});

async function call(method: 'GET' | 'POST' | 'PATCH' | 'DELETE', url: string, payload?: object | string) {
  const headers = { 'content-type': 'application/json' };
  const response = await app.inject({ method, url, ...(payload !== undefined && { payload, headers }) });
  return { status: response.statusCode, body: response.json<Record<string, unknown>>() };
}

test('amounts keep every digit', async () => {
  expect((await call('GET', '/accounts/ada%40example.com')).body).toMatchObject({ balance_usd: 0.1, status: 'active' });
  const credited = await call('POST', '/accounts/ada%40example.com/credit', { usd: '0.2' });
  expect(credited.body).toMatchObject({ balance_usd: 0.3 });
});

test.each([
  ['POST', '/accounts', { email: 'nobody', credit_usd: '1e3' }, 'email must be an e-mail address; credit must be'],
  ['POST', '/accounts', { email: 'b@c', credit_usd: '-1' }, 'credit must not be negative'],
  ['POST', '/accounts', { email: 'b@c', credit_usd: 5 }, 'credit must be an amount in USD'],
  ['POST', '/accounts', undefined, 'email must be an e-mail address'],
  ['POST', '/accounts', [], 'expected object'],
  ['POST', '/accounts/ada%40example.com/credit', { usd: '0' }, 'usd must not be zero'],
  ['POST', '/accounts/ada%40example.com/credit', { usd: '1', note: 'x'.repeat(201) }, 'note must be at most 200'],
  ['PATCH', '/accounts/ada%40example.com/limits', { api_keys: 0 }, 'api_keys must be an integer from 1 to 1000000'],
  [
    'PATCH',
    '/accounts/ada%40example.com/limits',
    { requests_per_minute: 1.5 },
    'requests_per_minute must be an integer',
  ],
  ['POST', '/accounts', '{', 'JSON'],
  ['POST', '/accounts', { email: `${'x'.repeat(20_000)}@y` }, 'too large'],
  ['GET', '/accounts/%E0%A4%A', undefined, 'is not a valid url component'],
] as const)('%s %s with %j is rejected', async (method, url, body, message) => {
  const answer = await call(method, url, body);
  expect(answer).toMatchObject({ status: 400, body: { error: { type: 'invalid_request' } } });
  expect(JSON.stringify(answer.body)).toContain(message);
});

test('each error has its status', async () => {
  const statusOf = async (...request: Parameters<typeof call>) => (await call(...request)).status;
  expect(await statusOf('POST', '/accounts', { email: 'ADA@example.com' })).toBe(409);
  expect(await statusOf('GET', '/accounts/no%40body')).toBe(404);
  expect(await statusOf('DELETE', '/accounts/ada%40example.com/keys/key_aaaaaaaa')).toBe(404);
  expect((await call('GET', '/somewhere')).body).toMatchObject({ error: { type: 'not_found' } });
});

test('an e-mail address may contain any character', async () => {
  const email = `a/b?c#d%e'"\\+{}@ä.example`;
  await call('POST', '/accounts', { email });
  expect((await call('GET', `/accounts/${encodeURIComponent(email)}`)).body).toMatchObject({ email });
});

test('an internal failure reveals no details', async () => {
  await store.close();
  expect(await call('GET', '/accounts')).toEqual({
    status: 500,
    body: { error: { type: 'internal_error', message: "The service failed. See the service's log for the reason." } },
  });
  store = await openSqliteStore(':memory:');
});
