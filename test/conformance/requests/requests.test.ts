import { describe, expect, it } from 'vitest';
import { expectError, expectStatus } from '../../support/conformance/api.ts';
import { findProblems } from '../../support/conformance/check-response.ts';
import { sendRequest } from '../../support/conformance/http-client.ts';
import { sendRawBytes } from '../../support/conformance/raw-http.ts';
import { useTarget } from '../../support/conformance/target.ts';

const target = useTarget();

describe('X-Request-Id', () => {
  it('is on every response; a caller may supply it', async () => {
    for (const id of ['mine', 'a', 'x'.repeat(128), '!~/+=;"\\']) {
      const response = await target.api.get('/account', { headers: { 'x-request-id': id } });
      expect(response.headers['x-request-id']).toBe(id);
    }
  });

  it('is on errors too, and the error body has the same id', async () => {
    const headers = { 'x-request-id': 'my-id' };
    const responses = [
      await target.api.get('/no/such/path', { headers }),
      await target.api.get('/account', { headers, authorization: null }),
      await target.api.post('/sandboxes', undefined, { headers, raw: '{' }),
    ];
    for (const { headers: got, body } of responses) {
      expect([got['x-request-id'], (body as { request_id: string }).request_id]).toEqual(['my-id', 'my-id']);
    }
  });

  it('an id that is too long or not visible ASCII is replaced by a unique one', async () => {
    const ids = new Set<string>();
    for (const id of ['x'.repeat(129), 'two words', 'é', '\t', '']) {
      const { headers } = await target.api.get('/account', { headers: { 'x-request-id': id } });
      expect(headers['x-request-id']).not.toBe(id);
      ids.add(String(headers['x-request-id']));
    }
    expect(ids.size).toBe(5);
  });
});

describe('an unknown path under the version prefix: 404 not_found', () => {
  it.each([
    '/',
    '/sandbox',
    '/Sandboxes',
    '/sandboxes/sbx_x/unknown',
    '/sandboxes/sbx_x/exec/more',
    '/executions',
    '/accounts/me',
    '/%2e%2e/healthz',
    '//account',
  ])('%s', async (path) => {
    expectError(await target.api.get(path), 404, 'not_found');
  });

  it.each([
    ['PUT', '/sandboxes'],
    ['PATCH', '/account'],
    ['POST', '/account'],
    ['DELETE', '/sandboxes'],
    ['GET', '/sandboxes/sbx_x/exec'],
    ['DELETE', '/sandboxes/sbx_x/ports'],
  ])('%s %s, an unsupported method', async (method, path) => {
    expectError(await target.api.call(method, path, {}), 404, 'not_found');
  });
});

describe('errors before any handler have the Error shape', () => {
  it.each(['/sandboxes/%', '/sandboxes/%zz', '/sandboxes/%ff%fe', '/sandboxes/sbx_x/files?path=%'])(
    'a URL that cannot be decoded: %s',
    async (path) => {
      expectError(await target.api.get(path), 400, 'request_error');
    },
  );

  it('a URL that cannot be decoded needs a key and counts like any other request', async () => {
    const api = await target.isolatedAccount();
    expectError(await api.get('/%zz', { authorization: null }), 401, 'unauthorized');
    const remaining = async (path: string) => {
      const { headers } = await api.get(path, { paced: false });
      return [Number(headers['ratelimit-reset']), Number(headers['ratelimit-remaining'])];
    };
    await expect
      .poll(async () => {
        const [one, two] = [await remaining('/account'), await remaining('/%zz')];
        return (one[0] ?? 0) >= (two[0] ?? 0) ? (one[1] ?? 0) - (two[1] ?? 0) : 'a new window';
      })
      .toBe(1);
  });

  it.each([
    ['headers that are too large', `GET /v1/account HTTP/1.1\r\nhost: x\r\nx-long: ${'x'.repeat(100_000)}\r\n\r\n`],
    ['an invalid request line', 'HELLO\r\n\r\n'],
    ['an invalid header', 'GET /v1/account HTTP/1.1\r\nhost: x\r\nno colon\r\n\r\n'],
    [
      'two Content-Lengths',
      'POST /v1/sandboxes HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n{}',
    ],
    [
      'Content-Length and chunks',
      'POST /v1/sandboxes HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n',
    ],
    [
      'a Content-Length that is not a number',
      'POST /v1/sandboxes HTTP/1.1\r\nhost: x\r\ncontent-length: many\r\n\r\n{}',
    ],
  ])('%s', async (_what, bytes) => {
    const response = await sendRawBytes(target.api.baseUrl, Buffer.from(bytes), 60_000);
    expect(response?.status).toBeGreaterThanOrEqual(400);
    expect(response?.status).toBeLessThan(500);
    expect(findProblems({ method: 'GET', path: '/account', status: 0, headers: {}, text: '', ...response })).toEqual(
      [],
    );
  });
});

describe('the API description and CORS', () => {
  it('the OpenAPI document has version 1.0.0 and needs no key', async () => {
    const url = target.api.baseUrl.replace(/\/v1$/, '/openapi.json');
    const { status, text } = await sendRequest({ method: 'GET', url });
    expect(status).toBe(200);
    expect(JSON.parse(text)).toMatchObject({ info: { version: '1.0.0' } });
  });

  it('web pages of any origin may call the API; a preflight needs no key', async () => {
    const { status, headers } = await sendRequest({
      method: 'OPTIONS',
      url: `${target.api.baseUrl}/sandboxes`,
      headers: {
        origin: 'https://example.org',
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'authorization, idempotency-key',
      },
    });
    expect(status).toBe(204);
    expect(headers['access-control-allow-origin']).toBe('*');
    expect(headers['access-control-allow-credentials']).toBeUndefined();
    expect(headers['access-control-allow-headers']?.toLowerCase()).toMatch(/authorization.*idempotency-key/);
    const response = await target.api.get('/account', { headers: { origin: 'https://example.org' } });
    expectStatus(response, 200);
    expect(response.headers['access-control-allow-origin']).toBe('*');
    expect(response.headers['access-control-expose-headers']).toMatch(/RateLimit-Remaining/i);
  });
});
