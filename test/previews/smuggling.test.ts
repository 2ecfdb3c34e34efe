import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createSandbox } from '../support/http.ts';
import { connectHttp2 } from '../support/previews/connect-http2.ts';
import { startNodeServer } from '../support/previews/guest-server.ts';
import { type Fields, sendFields } from '../support/previews/http2-frames.ts';
import { type OpenPreview, openPreview } from '../support/previews/open-preview.ts';
import { speak } from '../support/previews/speak.ts';
import { askHttp2, headOf, visit } from '../support/previews/visit.ts';
import { startTestService, type TestService } from '../support/service.ts';

const port = 3000;
let service: TestService;
let preview: OpenPreview;
let host: string;
beforeAll(async () => {
  service = await startTestService();
  const { id } = await createSandbox(service);
  await startNodeServer(service, id, port);
  preview = await openPreview(service, id, port);
  host = new URL(preview.url).host;
});
afterAll(() => service.stop());

/** Lines of a request, ended as they should be. */
const lines = (...all: readonly string[]): string => all.map((line) => `${line}\r\n`).join('');
/** The status lines of all answers in what came back. */
const statuses = (text: string): number[] =>
  Array.from(text.matchAll(/HTTP\/1\.1 (\d{3})/g), ([, status]) => Number(status));
const hidden = lines('GET /seen?hidden HTTP/1.1', 'host: localhost', '');
const post = ['POST /upload HTTP/1.1'];

/** Requests that two servers may read in two ways; whoever reads them as two is fooled. */
const ambiguous = (): Readonly<Record<string, string>> => ({
  'a length and chunks':
    lines(...post, `host: ${host}`, 'content-length: 4', 'transfer-encoding: chunked', '', '0', '') + hidden,
  'chunks and a length':
    lines(...post, `host: ${host}`, 'transfer-encoding: chunked', 'content-length: 4', '', '0', '') + hidden,
  'two lengths': lines(...post, `host: ${host}`, 'content-length: 0', `content-length: ${hidden.length}`, '') + hidden,
  'a list of lengths': lines(...post, `host: ${host}`, `content-length: 0, ${hidden.length}`, '') + hidden,
  'a length with a sign': lines(...post, `host: ${host}`, 'content-length: +4', '', 'abcd'),
  'an unknown transfer coding': lines(...post, `host: ${host}`, 'transfer-encoding: xchunked', '', '0', '') + hidden,
  'two transfer codings': lines(...post, `host: ${host}`, 'transfer-encoding: gzip, chunked', '', '0', '') + hidden,
  'a coding after the chunks':
    lines(...post, `host: ${host}`, 'transfer-encoding: chunked, identity', '', '0', '') + hidden,
  'a coding in two headers':
    lines(...post, `host: ${host}`, 'transfer-encoding: chunked', 'transfer-encoding: identity', '', '0', '') + hidden,
  'a folded header':
    lines(...post, `host: ${host}`, 'x-folded: a', ' transfer-encoding: chunked', '', '0', '') + hidden,
  'a space before a colon': lines(...post, `host: ${host}`, 'transfer-encoding : chunked', '', '0', '') + hidden,
  'a bare line feed in the head': `POST /upload HTTP/1.1\r\nhost: ${host}\nx-a: b\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n${hidden}`,
  'a bare line feed after a chunk’s size': `${lines(...post, `host: ${host}`, 'transfer-encoding: chunked', '')}1\na\r\n0\r\n\r\n${hidden}`,
  'a bare carriage return in a header': `POST /upload HTTP/1.1\r\nhost: ${host}\r\nx-a: b\rtransfer-encoding: chunked\r\n\r\n0\r\n\r\n${hidden}`,
  'a NUL in a header': lines(...post, `host: ${host}`, 'x-a: b\0c', 'content-length: 0', ''),
  'two hosts': lines('GET /seen HTTP/1.1', `host: ${host}`, 'host: localhost', 'connection: close', ''),
  'no host': lines('GET /seen HTTP/1.1', 'connection: close', ''),
  'a chunk’s size that is none': `${lines(...post, `host: ${host}`, 'transfer-encoding: chunked', '')}zz\r\n${hidden}`,
  'a chunk’s size that is too large': `${lines(...post, `host: ${host}`, 'transfer-encoding: chunked', '')}fffffffffffffffff\r\n${hidden}`,
});

const names = [
  'a length and chunks',
  'chunks and a length',
  'two lengths',
  'a list of lengths',
  'a length with a sign',
  'an unknown transfer coding',
  'two transfer codings',
  'a coding after the chunks',
  'a coding in two headers',
  'a folded header',
  'a space before a colon',
  'a bare line feed in the head',
  'a bare line feed after a chunk’s size',
  'a bare carriage return in a header',
  'a NUL in a header',
  'two hosts',
  'no host',
  'a chunk’s size that is none',
  'a chunk’s size that is too large',
];

describe('a request that may be read in two ways is refused and its connection closed', () => {
  it.each(names)('%s', async (name) => {
    const came = await speak(preview, ambiguous()[name] ?? '');
    for (const status of statuses(came)) expect([400, 421, 431, 501]).toContain(status);
    expect(statuses(came).length).toBeLessThanOrEqual(1);
    expect(came).not.toContain('hidden');
  });
});

describe('what is allowed but unusual is harmless', () => {
  it('an upgrade to HTTP/2 in clear is not taken, and not offered to the server', async () => {
    const head = ['GET /seen HTTP/1.1', `host: ${host}`, 'connection: close, upgrade, http2-settings', 'upgrade: h2c'];
    const came = await speak(preview, lines(...head, 'http2-settings: AAMAAABkAARAAAAAAAIAAAAA', ''));
    expect(statuses(came)).toHaveLength(1);
    expect(came).not.toMatch(/ 101 |h2c|http2-settings/i);
  });

  it('headers named in Connection are not passed on', async () => {
    const head = ['GET /seen HTTP/1.1', `host: ${host}`, 'connection: close, x-secret', 'x-secret: 1', 'x-open: 1'];
    const came = await speak(preview, lines(...head, 'proxy-authorization: Basic eA==', 'te: trailers', ''));
    expect(statuses(came)).toEqual([200]);
    expect(came).toContain('x-open');
    expect(came).not.toMatch(/x-secret|proxy-authorization/);
  });

  it('Connection cannot take away what the gateway says', async () => {
    const head = ['GET /seen HTTP/1.1', `host: ${host}`, 'connection: close, x-forwarded-for, host, x-forwarded-proto'];
    const came = await speak(preview, lines(...head, ''));
    expect(statuses(came)).toEqual([200]);
    expect(came).toContain('x-forwarded-for');
    expect(came).toContain(`localhost:${port}`);
  });

  it('a whole URL, another host’s or CONNECT as the target lead nowhere else', async () => {
    for (const target of ['GET http://192.0.2.1/seen', 'GET https://192.0.2.1/', 'CONNECT localhost:22', 'GET seen']) {
      const came = await speak(preview, lines(`${target} HTTP/1.1`, `host: ${host}`, 'connection: close', ''));
      expect(came).not.toContain('192.0.2.1');
      for (const status of statuses(came)) expect([400, 405, 421, 501]).toContain(status);
    }
  });

  it('one request after another in one piece is answered one by one', async () => {
    const ask = (path: string, more: string[] = []) => lines(`GET ${path} HTTP/1.1`, `host: ${host}`, ...more, '');
    const came = await speak(preview, ask('/seen?1') + ask('/seen?2') + ask('/seen?3', ['connection: close']));
    expect(Array.from(came.matchAll(/seen\?(\d)/g), ([, number]) => number)).toEqual(['1', '2', '3']);
  });
});

describe('heads that are too large are refused before a sandbox sees them', () => {
  it('over HTTP/1.1', async () => {
    const came = await speak(
      preview,
      lines('GET /seen HTTP/1.1', `host: ${host}`, `x-large: ${'x'.repeat(70_000)}`, ''),
    );
    expect([431, undefined]).toContain(statuses(came)[0]);
    expect(came).not.toContain('seen');
    const many = Array.from({ length: 5_000 }, (_, at) => `x-${at}: y`);
    const all = await speak(preview, lines('GET /seen HTTP/1.1', `host: ${host}`, ...many, ''));
    expect([431, undefined]).toContain(statuses(all)[0]);
    expect(all).not.toContain('seen');
  });

  it('over HTTP/2', async () => {
    const session = await connectHttp2(preview);
    const large = askHttp2(session, '/seen', { headers: { 'x-large': 'x'.repeat(100_000) } });
    const outcome = await headOf(large).then(
      ({ status }) => status,
      () => 'refused',
    );
    expect([431, 'refused']).toContain(outcome);
    session.destroy();
    expect((await visit(preview, '/seen', { protocol: 'HTTP/2' })).status).toBe(200);
  });

  it('as are those of an answer', async () => {
    expect((await visit(preview, '/huge-headers')).status).toBe(502);
  });
});

describe('an HTTP/2 request whose headers would be others in HTTP/1.1 never gets to a server', () => {
  const usual = (path = '/seen', method = 'GET'): Fields => [
    [':method', method],
    [':scheme', 'https'],
    [':authority', host],
    [':path', path],
  ];

  it('while the same without them does', async () => {
    const plain = await sendFields(preview, [...usual(), ['x-plain', 'value']]);
    expect(plain).toEqual({ body: expect.stringContaining('"x-plain","value"') });
    const upload = await sendFields(preview, [...usual('/upload', 'POST'), ['content-length', '3']], 'abc');
    expect(upload).toEqual({ body: expect.stringContaining('"bytes":3') });
  });

  it.each<readonly [string, readonly [string, string]]>([
    ['a line end in a value', ['x-a', 'b\r\nx-smuggled: c']],
    ['a line feed in a value', ['x-a', 'b\nx-smuggled: c']],
    ['a carriage return in a value', ['x-a', 'b\rx-smuggled: c']],
    ['a NUL in a value', ['x-smuggled', 'b\0c']],
    ['a line end in a name', ['x-a\r\nx-smuggled', 'c']],
    ['a colon in a name', ['x-smuggled: b', 'c']],
    ['a space in a name', ['x smuggled', 'c']],
    ['a capital letter in a name', ['X-Smuggled', 'c']],
    ['an empty name', ['', 'smuggled']],
    ['a transfer coding', ['transfer-encoding', 'chunked, smuggled']],
    ['a header of one connection', ['connection', 'smuggled']],
    ['an upgrade', ['upgrade', 'smuggled']],
    ['a second path', [':path', '/seen?smuggled']],
    ['an unknown pseudo-header', [':smuggled', 'x']],
  ])('%s', async (_, extra) => {
    const reception = await sendFields(preview, [...usual('/seen', 'POST'), extra], 'abc');
    // A header that is none may also be left out.
    if (reception !== 'refused') expect(reception.body).not.toMatch(/smuggled/i);
  });

  it.each([
    ['a length of a longer body', '5'],
    ['a length of a shorter body', '2'],
    ['a length that is no number', '3x'],
  ])('%s', async (_, length) => {
    const fields: Fields = [...usual('/upload', 'POST'), ['content-length', length]];
    expect(await sendFields(preview, fields, 'abc')).toBe('refused');
  });

  it.each<readonly [string, number, string]>([
    ['a line end in the path', 3, '/seen HTTP/1.1\r\nx-smuggled: c'],
    ['a space in the path', 3, '/seen x'],
    ['a path that is none', 3, 'seen'],
    ['an empty path', 3, ''],
    ['a line end in the method', 0, 'GET /hold HTTP/1.1\r\nx: y'],
    ['a space in the method', 0, 'GET /hold'],
    ['a line end in the host', 2, 'x\r\nx-smuggled: c'],
    ['a line end in the scheme', 1, 'https\r\nx: y'],
  ])('%s', async (_, at, value) => {
    const fields = usual().map(([name, given], index): Fields[number] => [name, index === at ? value : given]);
    expect(await sendFields(preview, fields)).toBe('refused');
  });
});
