import { describe, expect, it } from 'vitest';
import { expectError, expectStatus } from '../../support/conformance/api.ts';
import { findProblems } from '../../support/conformance/check-answer.ts';
import { exchange } from '../../support/conformance/exchange.ts';
import { sendRaw } from '../../support/conformance/raw.ts';
import { useSubject } from '../../support/conformance/subject.ts';

const subject = useSubject();

describe('X-Request-Id', () => {
  it('is on every response; a caller may supply it', async () => {
    for (const id of ['mine', 'a', 'x'.repeat(128), '!~/+=;"\\']) {
      const answer = await subject.api.get('/account', { headers: { 'x-request-id': id } });
      expect(answer.headers['x-request-id']).toBe(id);
    }
  });

  it('on errors as well, and the error body has the same id', async () => {
    const headers = { 'x-request-id': 'my-id' };
    const answers = [
      await subject.api.get('/no/such/path', { headers }),
      await subject.api.get('/account', { headers, authorization: null }),
      await subject.api.post('/sandboxes', undefined, { headers, raw: '{' }),
    ];
    for (const { headers: got, body } of answers) {
      expect([got['x-request-id'], (body as { request_id: string }).request_id]).toEqual(['my-id', 'my-id']);
    }
  });

  it('one that is too long or not visible ASCII is replaced; each request has another', async () => {
    const ids = new Set<string>();
    for (const id of ['x'.repeat(129), 'two words', 'é', '\t', '']) {
      const { headers } = await subject.api.get('/account', { headers: { 'x-request-id': id } });
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
    expectError(await subject.api.get(path), 404, 'not_found');
  });

  it.each([
    ['PUT', '/sandboxes'],
    ['PATCH', '/account'],
    ['POST', '/account'],
    ['DELETE', '/sandboxes'],
    ['GET', '/sandboxes/sbx_x/exec'],
    ['DELETE', '/sandboxes/sbx_x/ports'],
  ])('%s %s, a method that the path does not have', async (method, path) => {
    expectError(await subject.api.call(method, path, {}), 404, 'not_found');
  });
});

describe('errors before any handler have the same shape', () => {
  it.each(['/sandboxes/%', '/sandboxes/%zz', '/sandboxes/%ff%fe', '/sandboxes/sbx_x/files?path=%'])(
    'a URL that cannot be decoded: %s',
    async (path) => {
      const { status } = await subject.api.get(path);
      expect([400, 404]).toContain(status);
    },
  );

  it.each([
    ['headers that are too large', `GET /v1/account HTTP/1.1\r\nhost: x\r\nx-long: ${'x'.repeat(100_000)}\r\n\r\n`],
    ['a request line that is none', 'HELLO\r\n\r\n'],
    ['a header that is none', 'GET /v1/account HTTP/1.1\r\nhost: x\r\nno colon\r\n\r\n'],
    ['two lengths', 'POST /v1/sandboxes HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n{}'],
    [
      'length and chunks',
      'POST /v1/sandboxes HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n',
    ],
    ['a length that is no number', 'POST /v1/sandboxes HTTP/1.1\r\nhost: x\r\ncontent-length: many\r\n\r\n{}'],
  ])('%s', async (_what, bytes) => {
    const answer = await sendRaw(subject.api.baseUrl, Buffer.from(bytes), 10_000);
    expect(answer?.status).toBeGreaterThanOrEqual(400);
    expect(answer?.status).toBeLessThan(500);
    expect(findProblems({ method: 'GET', path: '/account', status: 0, headers: {}, text: '', ...answer })).toEqual([]);
  });
});

describe('the interface is versioned by the path prefix', () => {
  it('the description of the interface has version 1.0.0 and needs no key', async () => {
    const url = subject.api.baseUrl.replace(/\/v1$/, '/openapi.json');
    const { status, text } = await exchange({ method: 'GET', url });
    expect(status).toBe(200);
    expect(JSON.parse(text)).toMatchObject({ info: { version: '1.0.0' } });
  });

  it('web pages of any origin may call it; a preflight needs no key', async () => {
    const { status, headers } = await exchange({
      method: 'OPTIONS',
      url: `${subject.api.baseUrl}/sandboxes`,
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
    const answer = await subject.api.get('/account', { headers: { origin: 'https://example.org' } });
    expectStatus(answer, 200);
    expect(answer.headers['access-control-allow-origin']).toBe('*');
    expect(answer.headers['access-control-expose-headers']).toMatch(/RateLimit-Remaining/i);
  });
});
