import { describe, expect, test } from 'vitest';
import { defaultLimits } from '../src/limits.ts';
import { openApiDocument } from '../src/openapi/document.ts';
import type { OpenApiDocument, ResponseObject } from '../src/openapi/types.ts';
import { type ApiResponse, checkResponse, responseChecker } from './response-checker.ts';

const headers = {
  'content-type': 'application/json; charset=utf-8',
  'x-request-id': 'req_1',
  'ratelimit-limit': '120',
  'ratelimit-remaining': '119',
  'ratelimit-reset': '60',
};
const sandbox = {
  object: 'sandbox',
  id: 'sbx_1',
  name: null,
  status: 'running',
  status_reason: null,
  size: 'small',
  resources: { vcpu: 2, memory_gb: 4, disk_gb: 40 },
  snapshot_id: null,
  timeout_minutes: 15,
  created_at: '2026-01-02T03:04:05.123Z',
  ready_at: '2026-01-02T03:04:05.678Z',
  expires_at: '2026-01-02T03:19:05.678Z',
  ended_at: null,
  deleted_at: null,
};

interface Given extends Partial<Omit<ApiResponse, 'body'>> {
  readonly body?: unknown;
}

function problemsOf({ body = sandbox, ...rest }: Given): string[] {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return checkResponse({ method: 'GET', path: '/v1/sandboxes/sbx_1', status: 200, headers, ...rest, body: text });
}

const error = (type: string) => ({ error: { type, message: 'no' }, request_id: 'req_1' });

describe('a valid response has no problems', () => {
  test.each<[string, Given]>([
    ['a sandbox', {}],
    ['undocumented fields', { body: { ...sandbox, colour: 'blue' } }],
    ['a query and an origin', { path: 'http://localhost:8080/v1/sandboxes/sbx_1?x=1' }],
    ['headers of fetch', { headers: new Headers(headers) }],
    ['an error', { status: 404, body: error('not_found') }],
    ['an unknown path', { path: '/v1/nothing/here', status: 404, body: error('not_found') }],
    ['an unknown method', { method: 'PATCH', path: '/v1/account', status: 404, body: error('not_found') }],
    ['a HEAD, which is an unknown method', { method: 'HEAD', status: 404, body: '' }],
    ['a path outside the prefix', { path: '/healthz', status: 503, body: { status: 'starting' } }],
    ['a 429', { status: 429, headers: { ...headers, 'retry-after': '3' }, body: error('rate_limit_exceeded') }],
  ])('%s', (_, given) => {
    expect(problemsOf(given)).toEqual([]);
  });
});

describe('reports', () => {
  const { id: _, ...withoutId } = sandbox;
  const { 'x-request-id': __, ...withoutRequestId } = headers;
  const { 'ratelimit-reset': ___, ...withoutReset } = headers;
  const deleted = { object: 'sandbox', id: 'sbx_1', status: 'deleted', deleted_at: '2026-01-02T03:04:05.123Z' };
  test.each<[string, Given, string]>([
    ['an undocumented status', { status: 418 }, 'not documented'],
    ['a missing field', { body: withoutId }, "required property 'id'"],
    ['a field of the wrong type', { body: { ...sandbox, timeout_minutes: '15' } }, '/timeout_minutes must be integer'],
    ['an unknown sandbox status', { body: { ...sandbox, status: 'sleeping' } }, '/status must be equal to one of'],
    ['a malformed date-time', { body: { ...sandbox, created_at: 'today' } }, '/created_at must match format'],
    ['a body that is not JSON', { body: '<html>' }, 'not JSON'],
    ['the wrong Content-Type', { headers: { ...headers, 'content-type': 'text/html' } }, 'Content-Type'],
    ['a missing request id', { headers: withoutRequestId }, 'X-Request-Id is missing'],
    ['a missing rate-limit header', { headers: withoutReset }, 'RateLimit-Reset is missing'],
    [
      'a rate-limit header that is not a number',
      { headers: { ...headers, 'ratelimit-limit': 'many' } },
      'RateLimit-Limit',
    ],
    ['Retry-After without a 429', { headers: { ...headers, 'retry-after': '3' } }, 'Retry-After is not documented'],
    ['a 429 without Retry-After', { status: 429, body: error('rate_limit_exceeded') }, 'Retry-After is missing'],
    ['an error type of another status', { status: 404, body: error('internal_error') }, '/error/type'],
    [
      'an error type of another operation',
      { path: '/v1/account', status: 400, body: error('invalid_request') },
      '/error/type',
    ],
    ['an unknown error type', { status: 404, body: error('gone_fishing') }, '/error/type'],
    [
      'a different request id in the body',
      { status: 404, body: { ...error('not_found'), request_id: 'req_2' } },
      'req_2',
    ],
    ['a create without Location', { method: 'POST', path: '/v1/sandboxes', status: 201 }, 'Location is missing'],
    [
      'an additional field where none is allowed',
      { method: 'DELETE', body: { ...deleted, size: 'small' } },
      'additional',
    ],
    ['a missing request id outside the prefix', { path: '/docs', headers: {} }, 'X-Request-Id is missing'],
    ['a success response to an unknown path', { path: '/v1/nothing', body: {} }, 'not documented'],
  ])('%s', (_title, given, problem) => {
    expect(problemsOf(given).join('\n')).toContain(problem);
  });
});

test('every example in the document is valid', () => {
  const document = openApiDocument({ limits: defaultLimits, publicUrl: 'http://localhost', previewUrl: 'https://x' });
  const check = responseChecker(document);
  for (const { method, path, status, response } of documentedResponses(document)) {
    const json = response.content?.['application/json'];
    if (json === undefined) continue;
    const { example, examples = {} } = json;
    const bodies = example === undefined ? Object.values(examples).map(({ value }) => value) : [example];
    expect(bodies.length, `${method} ${path} ${status}`).toBeGreaterThan(0);
    for (const body of bodies) {
      const more = {
        ...(status === 429 && { 'retry-after': '1' }),
        ...([201, 202].includes(status) && { location: 'http://x/' }),
      };
      const sent = { ...headers, 'x-request-id': 'req_5f0c9a4be1d27386c4a90b12', ...more };
      expect(check({ method, path: `/v1${path}`, status, headers: sent, body: JSON.stringify(body) })).toEqual([]);
    }
  }
});

function* documentedResponses(document: OpenApiDocument) {
  for (const [path, item] of Object.entries(document.paths)) {
    for (const [method, { responses }] of Object.entries(item)) {
      for (const [status, part] of Object.entries(responses)) {
        const name = '$ref' in part ? (part.$ref.split('/').at(-1) ?? '') : undefined;
        const response = name === undefined ? (part as ResponseObject) : document.components.responses[name];
        if (response === undefined) throw new Error(`${name} is not in the document`);
        yield { method: method.toUpperCase(), path, status: Number(status), response };
      }
    }
  }
}
