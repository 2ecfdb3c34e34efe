import { describe, expect, it } from 'vitest';
import { expectError, expectStatus } from '../../support/conformance/api.ts';
import { useTarget } from '../../support/conformance/target.ts';

const target = useTarget();

const operations = [
  ['POST', '/sandboxes'],
  ['GET', '/sandboxes'],
  ['GET', '/sandboxes/sbx_x'],
  ['DELETE', '/sandboxes/sbx_x'],
  ['POST', '/sandboxes/sbx_x/exec'],
  ['POST', '/sandboxes/sbx_x/ports'],
  ['GET', '/sandboxes/sbx_x/ports'],
  ['DELETE', '/sandboxes/sbx_x/ports/80'],
  ['PUT', '/sandboxes/sbx_x/files'],
  ['GET', '/sandboxes/sbx_x/files'],
  ['DELETE', '/sandboxes/sbx_x/files'],
  ['POST', '/sandboxes/sbx_x/extend'],
  ['GET', '/sandboxes/sbx_x/executions'],
  ['GET', '/executions/exec_x'],
  ['GET', '/usage'],
  ['GET', '/account'],
  ['POST', '/tickets'],
  ['GET', '/no/such/path'],
] as const;

describe('authentication', () => {
  it.each(operations)('%s %s without a key: 401 unauthorized', async (method, path) => {
    expectError(await target.api.call(method, path, undefined, { authorization: null }), 401, 'unauthorized');
  });

  it.each(['', 'Bearer', 'Bearer ', 'Basic YTpi', 'Token KEY', 'KEY', 'BearerKEY', 'Bearer a b'])(
    '"%s" is not a Bearer token: 401 unauthorized',
    async (header) => {
      const authorization = header.replace('KEY', target.api.key);
      expectError(await target.api.get('/account', { authorization }), 401, 'unauthorized');
    },
  );

  it('a key that matches no key on file: 401 invalid_api_key', async () => {
    const { key } = target.api;
    for (const wrong of [`${key}x`, key.slice(0, -1), key.toUpperCase(), 'x', 'a'.repeat(5000)]) {
      expectError(await target.api.get('/account', { authorization: `Bearer ${wrong}` }), 401, 'invalid_api_key');
    }
  });

  it('a revoked key: 401 invalid_api_key; the message says that it is revoked', async (context) => {
    const revoked = await target.account(context, 'revoked');
    const unknown = await target.api.get('/account', { authorization: 'Bearer mf_unknown' });
    const message = expectError(await revoked.get('/account'), 401, 'invalid_api_key');
    expect(message).toContain('revoked');
    expect(message).not.toBe(expectError(unknown, 401, 'invalid_api_key'));
  });

  it('a key stops working when it is revoked; the other keys of the account keep working', async (context) => {
    const { core } = target.localService(context);
    const sibling = await target.account(context, 'sibling');
    expectStatus(await sibling.get('/account'), 200);
    const { accounts } = core.store;
    const [owner] = await accounts.list();
    const newest = (await accounts.listKeys(owner?.id ?? '')).at(-1);
    await accounts.revokeKey(owner?.id ?? '', newest?.id ?? '', Date.now());
    expectError(await sibling.get('/account'), 401, 'invalid_api_key');
    expectStatus(await target.api.get('/account'), 200);
  });

  it('key valid but account suspended: 403 account_suspended, on every operation', async (context) => {
    const suspended = await target.account(context, 'suspended');
    for (const [method, path] of operations) {
      expectError(await suspended.call(method, path), 403, 'account_suspended');
    }
  });

  it('the scheme is case-insensitive; a key in the URL or a cookie is ignored', async () => {
    const { api } = target;
    expectStatus(await api.get('/account', { authorization: `bearer ${api.key}` }), 200);
    for (const query of ['access_token', 'api_key', 'key']) {
      expectError(await api.get(`/account?${query}=${api.key}`, { authorization: null }), 401, 'unauthorized');
    }
    const headers = { cookie: `key=${api.key}; authorization=Bearer ${api.key}` };
    expectError(await api.get('/account', { authorization: null, headers }), 401, 'unauthorized');
  });

  it('is checked before the body, path and method', async () => {
    const { api } = target;
    const authorization = 'Bearer mf_unknown';
    const raw = '{"size":';
    expectError(await api.post('/sandboxes', undefined, { authorization, raw }), 401, 'invalid_api_key');
    expectError(await api.get('/no/such/path', { authorization }), 401, 'invalid_api_key');
    expectError(await api.call('PATCH', '/account', {}, { authorization }), 401, 'invalid_api_key');
  });
});
