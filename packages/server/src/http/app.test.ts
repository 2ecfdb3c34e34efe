import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { errorBodySchema } from '@mayfly/contract';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { stubService } from '../../test/app/stub-service.ts';

let service: Awaited<ReturnType<typeof stubService>>;
beforeEach(async () => {
  service = await stubService();
});
afterEach(() => service[Symbol.asyncDispose]());

describe('keys', () => {
  test.each([[''], ['Basic YTpi'], ['Bearer'], ['Bearer a b'], ['mf_test_key']])(
    '%j is unauthorized',
    async (value) => {
      const answer = await service.call('GET', '/v1/sandboxes', undefined, { authorization: value });
      expect([answer.status, answer.body.error.type]).toEqual([401, 'unauthorized']);
      errorBodySchema.parse(answer.body);
    },
  );

  test('an unknown key is an invalid key', async () => {
    const answer = await service.call('GET', '/v1/sandboxes', undefined, { authorization: 'Bearer mf_other' });
    expect([answer.status, answer.body.error.type]).toEqual([401, 'invalid_api_key']);
  });

  test('the scheme is case-insensitive', async () => {
    const answer = await service.call('GET', '/v1/sandboxes', undefined, { authorization: `bEARER ${service.key}` });
    expect(answer.status).toBe(200);
  });

  test('a missing key is reported before a malformed body', async () => {
    const answer = await service.call('POST', '/v1/sandboxes', '{', { authorization: '' });
    expect(answer.status).toBe(401);
  });
});

describe('unknown paths', () => {
  test.each([
    ['GET', '/v1'],
    ['GET', '/v1/nothing'],
    ['PUT', '/v1/sandboxes'],
    ['PATCH', '/v1/sandboxes/sbx_1'],
    ['POST', '/v1/sandboxes/'],
    ['GET', `/v1/sandboxes/${'x'.repeat(5000)}`],
  ])('%s %s is not found with a key and unauthorized without', async (method, url) => {
    const found = await service.call(method, url, method === 'GET' ? undefined : '{"not json');
    expect([found.status, found.body.error.type]).toEqual([404, 'not_found']);
    expect((await service.call(method, url, undefined, { authorization: '' })).status).toBe(401);
  });

  test('outside /v1 the 404 needs no key', async () => {
    const answer = await service.call('GET', '/nothing', undefined, { authorization: '' });
    expect([answer.status, answer.body.error.type]).toEqual([404, 'not_found']);
  });

  test('a URL that cannot be decoded is a request_error', async () => {
    const answer = await service.call('GET', '/v1/sandboxes/%zz');
    expect([answer.status, answer.body.error.type]).toEqual([400, 'request_error']);
    expect(answer.headers['x-request-id']).toBe(answer.body.request_id);
  });
});

describe('request ids', () => {
  test.each(['abc', '~'.repeat(128), 'a/b:c'])('%j is kept', async (id) => {
    const answer = await service.call('GET', '/v1/sandboxes/sbx_x', undefined, { 'x-request-id': id });
    expect(answer.headers['x-request-id']).toBe(id);
    expect(answer.body.request_id).toBe(id);
  });

  test.each(['', 'a b', 'x'.repeat(129), 'grüße'])('%j is replaced', async (id) => {
    const answer = await service.call('GET', '/healthz', undefined, { 'x-request-id': id });
    expect(answer.headers['x-request-id']).toMatch(/^req_[0-9a-f]{16}[0-9a-z]{7,}$/);
  });
});

describe('the id of a request in the log', () => {
  const lines: { event: string; request_id?: string }[] = [];
  const sink = { write: (line: string) => lines.push(JSON.parse(line) as { event: string }) };
  const idsOf = (event: string) => lines.flatMap((line) => (line.event === event ? [line.request_id] : []));
  let logged: typeof service;
  beforeEach(async () => {
    lines.length = 0;
    logged = await stubService({}, {}, { log: pino({ level: 'info', messageKey: 'event' }, sink) });
  });
  afterEach(() => logged[Symbol.asyncDispose]());

  test.each([
    ['a success', 'GET', '/v1/account'],
    ['an error', 'GET', '/v1/sandboxes/sbx_unknown'],
    ['an unknown path', 'GET', '/v1/nothing'],
    ['an invalid request', 'GET', '/v1/sandboxes?limit=0'],
  ])('equals X-Request-Id: %s', async (_, method, url) => {
    const own = await logged.call(method, url, undefined, { 'x-request-id': 'mine' });
    const generated = await logged.call(method, url);
    expect([own.headers['x-request-id'], generated.headers['x-request-id']]).toEqual(idsOf('request_answered'));
    expect(idsOf('request_answered')[0]).toBe('mine');
  });

  test('equals X-Request-Id: a failure of the service, with its cause', async () => {
    logged.core.store.sandboxes.find = () => Promise.reject(new Error('disk I/O error'));
    const { headers, body } = await logged.call('GET', '/v1/sandboxes/sbx_any');
    expect(idsOf('request_failed')).toEqual([headers['x-request-id']]);
    expect(idsOf('request_answered')).toEqual([body.request_id]);
  });

  test('equals X-Request-Id: an error before any handler', async () => {
    const { headers } = await logged.call('GET', '/v1/%zz', undefined, { 'x-request-id': 'mine' });
    expect([headers['x-request-id'], ...idsOf('request_refused')]).toEqual(['mine', 'mine']);
    const { port } = new URL(await logged.app.listen({ port: 0, host: '127.0.0.1' }));
    const socket = connect(Number(port), '127.0.0.1');
    socket.write('HELLO\r\n\r\n');
    const [, id] = /\r\nx-request-id: (\S+)\r\n/.exec(await text(socket)) ?? [];
    expect(idsOf('request_refused')[1]).toBe(id);
  });
});

describe('bodies', () => {
  test.each(['{', '{"size":}', 'small', '{} {}', Buffer.from([0x22, 0xff, 0x22])])('%j is not JSON', async (body) => {
    const answer = await service.call('POST', '/v1/sandboxes', body, { 'content-type': 'application/json' });
    expect([answer.status, answer.body.error.type]).toEqual([400, 'request_error']);
    expect(answer.headers['x-request-id']).toBe(answer.body.request_id);
  });

  test.each(['text/plain', 'garbage', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x'])(
    'is parsed as JSON with Content-Type %s',
    async (type) => {
      const answer = await service.call('POST', '/v1/sandboxes', { size: 'large' }, { 'content-type': type });
      expect([answer.status, answer.body.size]).toEqual([201, 'large']);
    },
  );

  test.each([undefined, '', '  \n', 'null', '{}'])('%j is an empty body', async (body) => {
    const answer = await service.call('POST', '/v1/sandboxes', body, { 'content-type': 'application/json' });
    expect(answer.status).toBe(201);
  });

  test('1,048,576 bytes are accepted, one more is refused', async () => {
    const body = (bytes: number) => `{"name":"x"${' '.repeat(bytes - 12)}}`;
    expect((await service.call('POST', '/v1/sandboxes', body(1_048_576))).status).toBe(201);
    const answer = await service.call('POST', '/v1/sandboxes', body(1_048_577));
    expect([answer.status, answer.body.error.type]).toEqual([413, 'request_error']);
  });

  test('the message names every failed rule of headers and body', async () => {
    const headers = { 'idempotency-key': 'k'.repeat(256) };
    const answer = await service.call('POST', '/v1/sandboxes', { size: 'tiny', timeout_minutes: 0 }, headers);
    expect([answer.status, answer.body.error.type]).toEqual([400, 'invalid_request']);
    expect(answer.body.error.message.split('; ')).toEqual([
      'Idempotency-Key must be 1 to 255 characters',
      'size must be one of small, medium, large',
      'timeout_minutes must be an integer from 1 to 1440',
    ]);
  });
});

test('a header that is sent as UTF-8 counts characters, not bytes', async () => {
  const { port } = new URL(await service.app.listen({ port: 0, host: '127.0.0.1' }));
  const create = async (idempotencyKey: string) => {
    const socket = connect(Number(port), '127.0.0.1');
    const headers = ['Host: x', `Authorization: Bearer ${service.key}`, 'Content-Length: 0', 'Connection: close'];
    socket.write(
      ['POST /v1/sandboxes HTTP/1.1', ...headers, `Idempotency-Key: ${idempotencyKey}`, '', ''].join('\r\n'),
    );
    return (await text(socket)).split(' ')[1];
  };
  expect([await create('ä'.repeat(255)), await create('ä'.repeat(256))]).toEqual(['201', '400']);
});

test('a service that is stopping is unhealthy and refuses new sandboxes', async () => {
  expect(await service.call('GET', '/healthz', undefined, { authorization: '' })).toMatchObject({
    status: 200,
    body: { status: 'ok' },
  });
  service.setReadiness('stopping');
  expect((await service.call('GET', '/healthz')).status).toBe(503);
  const refused = await service.call('POST', '/v1/sandboxes');
  expect([refused.status, refused.body.error.type]).toEqual([503, 'capacity_unavailable']);
  expect(refused.headers.connection).toBe('close');
});

test('an unexpected failure is a 500 that reveals no internals', async () => {
  await service.store.close();
  const answer = await service.call('GET', '/v1/sandboxes');
  expect([answer.status, answer.body.error.type]).toEqual([500, 'internal_error']);
  expect(answer.body.error.message).not.toMatch(/sql|database|driver/i);
  service = await stubService();
});

test('web pages of any origin may call the API, and a preflight needs no key', async () => {
  const headers = { authorization: '', origin: 'https://a.example', 'access-control-request-method': 'POST' };
  const preflight = await service.call('OPTIONS', '/v1/sandboxes', undefined, headers);
  expect(preflight.status).toBe(204);
  expect(preflight.headers['access-control-allow-headers']).toContain('Authorization');
  expect((await service.call('GET', '/v1/sandboxes')).headers['access-control-allow-origin']).toBe('*');
});
