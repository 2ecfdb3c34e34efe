import fc from 'fast-check';
import { hostileString } from './hostile-values.ts';

type Header = readonly [string, string];

const visible = fc.string({ unit: 'grapheme-ascii', maxLength: 40 });

/** Headers that callers, proxies and attackers send. */
export const hostileHeaders: fc.Arbitrary<readonly Header[]> = fc.array(
  fc.oneof<fc.Arbitrary<Header>[]>(
    fc.tuple(
      fc.constant('x-request-id'),
      fc.oneof(visible, fc.constantFrom('', 'x'.repeat(128), 'x'.repeat(129), 'é', '\u0001', '  a  ')),
    ),
    fc.tuple(
      fc.constant('content-type'),
      fc.constantFrom(
        '',
        'text/html',
        'application/json; charset=utf-16',
        ';;;',
        'multipart/form-data',
        'a/b; c="',
        'x'.repeat(3000),
      ),
    ),
    fc.tuple(
      fc.constant('authorization'),
      fc.oneof(
        visible,
        fc.constantFrom('', 'Bearer', 'Bearer  ', 'Basic e30=', `Bearer ${'k'.repeat(9000)}`, 'Bearer \u00e9'),
      ),
    ),
    fc.tuple(
      fc.constant('idempotency-key'),
      fc.oneof(visible, fc.constantFrom('', 'k'.repeat(255), 'k'.repeat(256), 'é'.repeat(200))),
    ),
    fc.tuple(fc.constant('expect'), fc.constantFrom('100-continue', 'something-else', '')),
    fc.tuple(fc.constant('accept'), fc.constantFrom('text/html', '*/*;q=0', 'x'.repeat(2000))),
    fc.tuple(fc.constant('accept-encoding'), fc.constantFrom('gzip', 'br;q=1.0', 'identity;q=0')),
    fc.tuple(fc.constant('content-encoding'), fc.constantFrom('gzip', 'deflate', 'unknown')),
    fc.tuple(fc.constant('connection'), fc.constantFrom('close', 'keep-alive', 'upgrade', '')),
    fc.tuple(fc.constant('upgrade'), fc.constantFrom('websocket', 'h2c', 'TLS/1.3')),
    fc.tuple(fc.constant('x-forwarded-for'), fc.constantFrom('1.2.3.4', 'not an address', ', , ,', 'x'.repeat(1000))),
    fc.tuple(fc.constant('origin'), fc.constantFrom('null', 'https://example.org', '\\')),
    fc.tuple(fc.constant('access-control-request-method'), fc.constantFrom('POST', 'x', '')),
    fc.tuple(fc.constant('host'), fc.constantFrom('', 'evil.example', 'a b', '[::1]:99999')),
    fc.tuple(fc.constant('range'), fc.constantFrom('bytes=0-0', 'bytes=-1')),
    fc.tuple(fc.constant('if-none-match'), fc.constantFrom('*', '"x"')),
    fc.tuple(fc.constant('cookie'), visible),
    fc.tuple(
      fc.constantFrom('__proto__', 'constructor', 'x-long', 'x-very-long'),
      fc.constantFrom('x', 'x'.repeat(8000), 'x'.repeat(20_000)),
    ),
    fc.tuple(fc.constantFrom('transfer-encoding'), fc.constantFrom('chunked', 'gzip, chunked', 'identity')),
    fc.tuple(fc.constantFrom('content-length'), fc.constantFrom('0', '-1', '1e3', '99999999999999999999', '5, 5', '')),
  ),
  { minLength: 1, maxLength: 3 },
);

function lines(...parts: readonly string[]): Uint8Array {
  return Buffer.from(parts.join('\r\n'));
}

const auth = 'authorization: Bearer x';

/** Bytes that are not a request, half of one, or more than one. */
export const garbage: fc.Arbitrary<Uint8Array> = fc.oneof(
  fc.uint8Array({ minLength: 1, maxLength: 300 }),
  fc.uint8Array({ minLength: 1, maxLength: 100 }).map((bytes) => Buffer.concat([bytes, Buffer.from('\r\n\r\n')])),
  fc.string({ unit: 'grapheme-ascii', maxLength: 100 }).map((text) => lines(text, '', '')),
  fc.constantFrom(
    lines('GET /v1/account HTTP/1.1', '', ''),
    lines('GET /v1/account HTTP/1.0', '', ''),
    lines('GET /v1/account', ''),
    lines('GET /v1/account HTTP/2.0', 'host: x', '', ''),
    lines('GET /v1/account HTTP/9.9', 'host: x', '', ''),
    lines('PRI * HTTP/2.0', '', 'SM', '', ''),
    lines('GET http://elsewhere/v1/account HTTP/1.1', 'host: x', 'connection: close', '', ''),
    lines('OPTIONS * HTTP/1.1', 'host: x', 'connection: close', '', ''),
    lines('CONNECT example.org:25 HTTP/1.1', 'host: x', '', ''),
    lines('GET /v1/account HTTP/1.1', 'host: x', 'host: y', 'connection: close', '', ''),
    lines('GET /v1/account HTTP/1.1', 'host: x', ' folded: header', '', ''),
    lines('GET /v1/account HTTP/1.1', 'host: x', 'bad header: x', '', ''),
    lines('GET /v1/account HTTP/1.1', 'host: x', `x: ${'a'.repeat(70_000)}`, '', ''),
    lines(`GET /v1/${'a'.repeat(70_000)} HTTP/1.1`, 'host: x', '', ''),
    lines('POST /v1/sandboxes HTTP/1.1', 'host: x', auth, 'transfer-encoding: chunked', '', 'zz', '', ''),
    lines(
      'POST /v1/sandboxes HTTP/1.1',
      'host: x',
      auth,
      'transfer-encoding: chunked',
      '',
      'fffffffffffffffff',
      '',
      '',
    ),
    lines(
      'POST /v1/sandboxes HTTP/1.1',
      'host: x',
      auth,
      'content-length: 5',
      'transfer-encoding: chunked',
      '',
      '0',
      '',
      '',
    ),
    lines('POST /v1/sandboxes HTTP/1.1', 'host: x', auth, 'content-length: 5', 'content-length: 6', '', '{}'),
    lines('POST /v1/sandboxes HTTP/1.1', 'host: x', auth, 'content-length: 1000', '', '{'),
    lines(
      'GET /v1/account HTTP/1.1',
      'host: x',
      auth,
      '',
      'GET /v1/usage HTTP/1.1',
      'host: x',
      auth,
      'connection: close',
      '',
      '',
    ),
    Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xfc, 0x03, 0x03]),
  ),
);

/** Encodes text for a URL. */
export function urlEncode(text: string): string {
  return encodeURIComponent(text.toWellFormed());
}

/** Path segments that do not exist or cannot be decoded. */
export const hostilePathSegment = fc.oneof(
  hostileString.map((text) => urlEncode(text.slice(0, 3000))),
  fc.constantFrom(
    '%',
    '%zz',
    '%00',
    '%2F',
    '%2e%2e',
    '..',
    '.',
    '',
    ';x=1',
    '%ff%fe',
    '%C0%80',
    'a'.repeat(9000),
    '*',
    '|',
    '{}',
    "'",
    '\\',
  ),
);

/** Queries with duplicate, nested or truncated parameters, or far too many. */
export const hostileQuery = fc.oneof(
  hostileString.map((text) => `?${urlEncode(text.slice(0, 2000))}`),
  fc.constantFrom(
    '?',
    '??',
    '?&&&',
    '?=',
    '?limit',
    '?limit=1&limit=2',
    '?limit[]=1',
    '?limit[a][b]=1',
    '?path[0]=x&path[1]=y',
    '?path=%',
    '?path=%00',
    '?path=a&path=b',
    '?__proto__=1',
    '?limit=%00',
    `?${'a=1&'.repeat(2000)}`,
    '?list=TRUE',
    '?days=٣',
    '?path=%ff',
    '#fragment',
  ),
);
