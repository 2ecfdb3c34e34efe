import type { FastifyInstance } from 'fastify';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { stubService } from '../../test/app/stub-service.ts';
import { signedIn, TestBrowser } from '../../test/http/browser.ts';
import { buildAdmin } from './build-admin.ts';

let service: Awaited<ReturnType<typeof stubService>>;
let app: FastifyInstance;
let localUrl: string | undefined;
beforeEach(async () => {
  service = await stubService();
  app = buildAdmin(service.core, pino({ level: 'silent' }), {
    local: () => localUrl,
    public: () => 'https://mayfly.example.com',
  });
  await call('POST', '/accounts', { email: 'ada@example.com', credit_usd: '0.1' });
});
afterEach(async () => {
  await app.close();
  await service[Symbol.asyncDispose]();
});

async function call(method: 'GET' | 'POST' | 'PATCH' | 'DELETE', url: string, payload?: object | string) {
  const headers = { 'content-type': 'application/json' };
  const response = await app.inject({ method, url, ...(payload !== undefined && { payload, headers }) });
  return { status: response.statusCode, body: response.json<Record<string, unknown>>() };
}

test('the address of the API is known once it takes requests', async () => {
  expect((await call('GET', '/service')).body).toEqual({ object: 'service', url: null });
  localUrl = 'http://127.0.0.1:9090';
  expect((await call('GET', '/service')).body).toEqual({ object: 'service', url: localUrl });
});

describe('sign-in links', () => {
  const dayMs = 24 * 60 * 60_000;
  const tokenIn = (body: Record<string, unknown>) => String(body.url).split('#link=')[1] ?? '';
  const signIn = async (token: string) =>
    (await new TestBrowser(service).post('/session/link', { token })).body as unknown as { account: { email: string } };

  test('sign in to the account at the public address, for a day', async () => {
    const { status, body } = await call('POST', '/accounts/ADA%40example.com/login-link');
    expect(status).toBe(200);
    expect(body).toEqual({
      object: 'sign_in_link',
      email: 'ada@example.com',
      url: expect.stringMatching(/^https:\/\/mayfly\.example\.com\/sign-in#link=[\w-]{43}$/),
      expires_at: new Date(service.clock.nowMs() + dayMs).toISOString(),
      account_created: false,
    });
    const headers = { host: 'localhost', origin: 'http://localhost' };
    const payload = { token: tokenIn(body) };
    const url = '/app/api/session/link';
    expect((await service.app.inject({ method: 'POST', url, headers, payload })).statusCode).toBe(201);
    expect((await call('POST', '/accounts/nobody%40x/login-link')).body).toMatchObject({
      error: { type: 'unknown_account' },
    });
  });

  test('invite somebody new for a week, with an account that has credit and no key', async () => {
    const { body } = await call('POST', '/invitations', { email: 'bob@example.com', credit_usd: '5' });
    expect(body).toMatchObject({
      email: 'bob@example.com',
      account_created: true,
      expires_at: new Date(service.clock.nowMs() + 7 * dayMs).toISOString(),
    });
    expect((await call('GET', '/accounts/bob%40example.com')).body).toMatchObject({ balance_usd: 5 });
    expect((await call('GET', '/accounts/bob%40example.com/keys')).body).toMatchObject({ data: [] });
    expect((await signIn(tokenIn(body))).account.email).toBe('bob@example.com');
    const again = await call('POST', '/invitations', { email: 'BOB@example.com', credit_usd: '7' });
    expect(again.body).toMatchObject({ email: 'bob@example.com', account_created: false });
    expect((await call('GET', '/accounts/bob%40example.com')).body).toMatchObject({ balance_usd: 5 });
    expect((await call('POST', '/invitations', { email: 'bob', credit_usd: '-1' })).status).toBe(400);
  });

  test('take the place of a password that an operator resets', async () => {
    const browser = await signedIn(service, 'ada@example.com');
    const { body } = await call('POST', '/accounts/ada%40example.com/reset-password');
    expect((await browser.get('/session')).status).toBe(401);
    expect((await browser.signIn('ada@example.com')).status).toBe(401);
    expect((await signIn(tokenIn(body))).account.email).toBe('ada@example.com');
  });
});

test('keys have the name that an operator gives them, and the time of their last use', async () => {
  service.clock.advanceMs(1);
  const created = await call('POST', '/accounts/ada%40example.com/keys', { name: 'ci' });
  expect(created.body).toMatchObject({ name: 'ci', last_used_at: null });
  const headers = { authorization: `Bearer ${String(created.body.api_key)}` };
  await service.app.inject({ method: 'GET', url: '/v1/account', headers });
  await service.core.keyUses.flush();
  const { data } = (await call('GET', '/accounts/ada%40example.com/keys')).body as { data: object[] };
  expect(data).toMatchObject([
    { name: null, last_used_at: null },
    { name: 'ci', last_used_at: new Date(service.clock.nowMs()).toISOString() },
  ]);
});

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
  vi.spyOn(service.core.store.accounts, 'list').mockRejectedValueOnce(new Error('the disk is full'));
  expect(await call('GET', '/accounts')).toEqual({
    status: 500,
    body: { error: { type: 'internal_error', message: "The service failed. See the service's log for the reason." } },
  });
});

describe('sandboxes', () => {
  const create = async () => (await service.call('POST', '/v1/sandboxes')).body.id;

  test('are listed newest first, with their accounts', async () => {
    const older = await create();
    const newer = await create();
    const listed = await call('GET', '/sandboxes');
    expect(listed.body.data).toMatchObject([
      { id: newer, email: 'a@localhost', status: 'running', machine_id: expect.any(String) },
      { id: older },
    ]);
    expect((await call('GET', '/accounts/ada%40example.com/sandboxes')).body.data).toEqual([]);
  });

  test('one is destroyed, and its owner sees why', async () => {
    const id = await create();
    expect(await call('DELETE', `/sandboxes/${id}`)).toMatchObject({ status: 200, body: { id, status: 'deleted' } });
    expect((await service.call('GET', `/v1/sandboxes/${id}`)).body.status_reason).toBe('deleted_by_operator');
    const again = { status: 404, body: { error: { type: 'unknown_sandbox' } } };
    expect(await call('DELETE', `/sandboxes/${id}`)).toMatchObject(again);
    expect(await call('DELETE', '/sandboxes/sbx_none')).toMatchObject(again);
  });

  test('a suspension with destroy ends the sandboxes of the account, and no others', async () => {
    const ids = await Promise.all([create(), create()]);
    const other = await call('POST', '/accounts/ada%40example.com/suspend', { destroy: true });
    expect(other.body).toMatchObject({ status: 'suspended', destroyed: [] });
    const suspended = await call('POST', '/accounts/a%40localhost/suspend', { destroy: true });
    const destroyed = suspended.body.destroyed as readonly { id: string }[];
    expect(destroyed.map(({ id }) => id).sort()).toEqual(ids.sort());
    expect((await call('GET', '/sandboxes')).body.data).toEqual([]);
  });

  test('a create that was authenticated before the suspension is refused', async () => {
    const { store } = service.core;
    const insert = store.sandboxes.insert.bind(store.sandboxes);
    vi.spyOn(store.sandboxes, 'insert').mockImplementationOnce(async (...given) => {
      await call('POST', '/accounts/a%40localhost/suspend', { destroy: true });
      return await insert(...given);
    });
    expect(await service.call('POST', '/v1/sandboxes')).toMatchObject({
      status: 403,
      body: { error: { type: 'account_suspended' } },
    });
    expect((await call('GET', '/sandboxes')).body.data).toEqual([]);
  });
});

describe('the audit trail', () => {
  const trail = async (query = '') => (await call('GET', `/audit${query}`)).body.data as Record<string, unknown>[];

  test('holds who did what, with which result', async () => {
    const { id } = (await service.call('POST', '/v1/sandboxes', undefined, { 'x-request-id': 'r1' })).body;
    await service.call('DELETE', `/v1/sandboxes/${id}/ports/80`);
    await call('DELETE', `/sandboxes/${id}`);
    await call('DELETE', '/accounts/ada%40example.com/keys/key_aaaaaaaa');
    const events = await trail();
    const key = { key_id: 'key_test', operator: null, source_address: '127.0.0.1', email: 'a@localhost' };
    const operator = { key_id: null, operator: 'root', source_address: null };
    const byAction = (action: string) => events.find((event) => event.action === action);
    expect(byAction('createSandbox')).toMatchObject({ ...key, target: id, status: 201, request_id: 'r1' });
    expect(byAction('closePort')).toMatchObject({ ...key, target: id, status: 404, error_type: 'not_found' });
    expect(byAction('sandboxes.destroy')).toMatchObject({ ...operator, target: id, email: 'a@localhost', status: 200 });
    expect(byAction('keys.revoke')).toMatchObject({
      ...operator,
      email: 'ada@example.com',
      target: 'key_aaaaaaaa',
      status: 404,
      error_type: 'unknown_key',
    });
    expect(byAction('accounts.create')).toMatchObject({ ...operator, target: 'ada@example.com', status: 200 });
    expect(byAction('audit.list')).toBeUndefined();
    const read = (await trail()).find(({ action }) => action === 'audit.list');
    expect(read).toMatchObject({ ...operator, status: 200 });
  });

  test('does not hold reads and refused requests', async () => {
    await service.call('GET', '/v1/sandboxes');
    await service.call('POST', '/v1/sandboxes', undefined, { authorization: 'Bearer mf_unknown' });
    await service.call('POST', '/v1/no/such/path');
    expect(await trail('?email=a%40localhost')).toEqual([]);
  });

  test('can be limited to an account, a target, a time and a number', async () => {
    const { id } = (await service.call('POST', '/v1/sandboxes')).body;
    await service.call('POST', `/v1/sandboxes/${id}/extend`);
    expect(await trail('?email=A%40localhost')).toHaveLength(2);
    expect(await trail('?email=ada%40example.com')).toMatchObject([{ action: 'accounts.create' }]);
    expect(await trail(`?target=${id}`)).toHaveLength(2);
    expect(await trail(`?target=${id}&limit=1`)).toHaveLength(1);
    expect(await trail('?since=2999-01-01')).toEqual([]);
    expect(await call('GET', '/audit?limit=0')).toMatchObject({ status: 400 });
    expect(await call('GET', '/audit?since=yesterday')).toMatchObject({ status: 400 });
  });

  test('a command that cannot be recorded is not carried out', async () => {
    vi.spyOn(service.core.store.audit, 'append').mockRejectedValueOnce(new Error('the disk is full'));
    expect((await call('POST', '/accounts/a%40localhost/suspend')).status).toBe(500);
    expect((await call('GET', '/accounts/a%40localhost')).body.status).toBe('active');
  });
});
