import { describe, expect, it } from 'vitest';
import { connectHttp2, exchangeRaw } from '../../support/previews/connections.ts';
import { type Fields, sendHeaderFields } from '../../support/previews/http2-frames.ts';
import type { PreviewFixture } from '../../support/previews/preview-fixture.ts';
import { requestHttp2, responseHead, visit } from '../../support/previews/visit.ts';
import { ambiguousRequests, lines } from './ambiguous-requests.ts';

/** The status codes of all responses in the received text. */
function statuses(text: string): number[] {
  return Array.from(text.matchAll(/HTTP\/1\.1 (\d{3})/g), ([, status]) => Number(status));
}

/** No request can be interpreted in one way by the gateway and in another by the server. */
export function describeSmuggling(fixture: PreviewFixture) {
  return describe('request smuggling', () => {
    const host = () => new URL(fixture.preview.url).host;

    describe('an ambiguous request is refused and its connection closed', () => {
      it.each(Object.entries(ambiguousRequests))('%s', async (_, request) => {
        const received = await exchangeRaw(fixture.preview, request(host()));
        for (const status of statuses(received)) expect([400, 421, 431, 501]).toContain(status);
        expect(statuses(received).length).toBeLessThanOrEqual(1);
        expect(received).not.toContain('hidden');
      });
    });

    describe('unusual but valid requests are harmless', () => {
      it('an upgrade to cleartext HTTP/2 is neither accepted nor forwarded', async () => {
        const head = [
          'GET /seen HTTP/1.1',
          `host: ${host()}`,
          'connection: close, upgrade, http2-settings',
          'upgrade: h2c',
        ];
        const received = await exchangeRaw(
          fixture.preview,
          lines(...head, 'http2-settings: AAMAAABkAARAAAAAAAIAAAAA', ''),
        );
        expect(statuses(received)).toHaveLength(1);
        expect(received).not.toMatch(/ 101 |h2c|http2-settings/i);
      });

      it('headers listed in Connection are not forwarded', async () => {
        const head = [
          'GET /seen HTTP/1.1',
          `host: ${host()}`,
          'connection: close, x-secret',
          'x-secret: 1',
          'x-open: 1',
        ];
        const received = await exchangeRaw(
          fixture.preview,
          lines(...head, 'proxy-authorization: Basic eA==', 'te: trailers', ''),
        );
        expect(statuses(received)).toEqual([200]);
        expect(received).toContain('x-open');
        expect(received).not.toMatch(/x-secret|proxy-authorization/);
      });

      it('Connection cannot remove headers that the gateway adds', async () => {
        const head = [
          'GET /seen HTTP/1.1',
          `host: ${host()}`,
          'connection: close, x-forwarded-for, host, x-forwarded-proto',
        ];
        const received = await exchangeRaw(fixture.preview, lines(...head, ''));
        expect(statuses(received)).toEqual([200]);
        expect(received).toContain('x-forwarded-for');
        expect(received).toContain(`localhost:${fixture.port}`);
      });

      it('an absolute URL, another host or CONNECT as the target leads nowhere else', async () => {
        for (const target of [
          'GET http://192.0.2.1/seen',
          'GET https://192.0.2.1/',
          'CONNECT localhost:22',
          'GET seen',
        ]) {
          const received = await exchangeRaw(
            fixture.preview,
            lines(`${target} HTTP/1.1`, `host: ${host()}`, 'connection: close', ''),
          );
          expect(received).not.toContain('192.0.2.1');
          for (const status of statuses(received)) expect([400, 405, 421, 501]).toContain(status);
        }
      });

      it('pipelined requests are answered one by one', async () => {
        const get = (path: string, headers: string[] = []) =>
          lines(`GET ${path} HTTP/1.1`, `host: ${host()}`, ...headers, '');
        const received = await exchangeRaw(
          fixture.preview,
          get('/seen?1') + get('/seen?2') + get('/seen?3', ['connection: close']),
        );
        expect(Array.from(received.matchAll(/seen\?(\d)/g), ([, number]) => number)).toEqual(['1', '2', '3']);
      });
    });

    describe('headers that are too large are refused before they reach a sandbox', () => {
      it('over HTTP/1.1', async () => {
        const received = await exchangeRaw(
          fixture.preview,
          lines('GET /seen HTTP/1.1', `host: ${host()}`, `x-large: ${'x'.repeat(70_000)}`, ''),
        );
        expect([431, undefined]).toContain(statuses(received)[0]);
        expect(received).not.toContain('seen');
        const many = Array.from({ length: 5_000 }, (_, at) => `x-${at}: y`);
        const all = await exchangeRaw(fixture.preview, lines('GET /seen HTTP/1.1', `host: ${host()}`, ...many, ''));
        expect([431, undefined]).toContain(statuses(all)[0]);
        expect(all).not.toContain('seen');
      });

      it('over HTTP/2', async () => {
        const session = await connectHttp2(fixture.preview);
        const large = requestHttp2(session, '/seen', { headers: { 'x-large': 'x'.repeat(100_000) } });
        const outcome = await responseHead(large).then(
          ({ status }) => status,
          () => 'refused',
        );
        expect([431, 'refused']).toContain(outcome);
        session.destroy();
        expect((await visit(fixture.preview, '/seen', { protocol: 'HTTP/2' })).status).toBe(200);
      });

      it('in a response', async () => {
        expect((await visit(fixture.preview, '/huge-headers')).status).toBe(502);
      });
    });

    describe('an HTTP/2 request whose fields would mean something else in HTTP/1.1 never reaches a server', () => {
      const usual = (path = '/seen', method = 'GET'): Fields => [
        [':method', method],
        [':scheme', 'https'],
        [':authority', host()],
        [':path', path],
      ];

      it('while the same request without them does', async () => {
        const plain = await sendHeaderFields(fixture.preview, [...usual(), ['x-plain', 'value']]);
        expect(plain).toEqual({ body: expect.stringContaining('"x-plain","value"') });
        const upload = await sendHeaderFields(
          fixture.preview,
          [...usual('/upload', 'POST'), ['content-length', '3']],
          'abc',
        );
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
        ['a transfer encoding', ['transfer-encoding', 'chunked, smuggled']],
        ['a connection header', ['connection', 'smuggled']],
        ['an upgrade', ['upgrade', 'smuggled']],
        ['a second path', [':path', '/seen?smuggled']],
        ['an unknown pseudo-header', [':smuggled', 'x']],
      ])('%s', async (_, extra) => {
        const outcome = await sendHeaderFields(fixture.preview, [...usual('/seen', 'POST'), extra], 'abc');
        // The gateway may also drop an invalid field instead of refusing the request.
        expect(outcome === 'refused' ? '' : outcome.body).not.toMatch(/smuggled/i);
      });

      it.each([
        ['a content-length above the length of the body', '5'],
        ['a content-length below the length of the body', '2'],
        ['a content-length that is not a number', '3x'],
      ])('%s', async (_, length) => {
        const fields: Fields = [...usual('/upload', 'POST'), ['content-length', length]];
        expect(await sendHeaderFields(fixture.preview, fields, 'abc')).toBe('refused');
      });

      it.each<readonly [string, number, string]>([
        ['a line end in the path', 3, '/seen HTTP/1.1\r\nx-smuggled: c'],
        ['a space in the path', 3, '/seen x'],
        ['a path without a leading slash', 3, 'seen'],
        ['an empty path', 3, ''],
        ['a line end in the method', 0, 'GET /hold HTTP/1.1\r\nx: y'],
        ['a space in the method', 0, 'GET /hold'],
        ['a line end in the host', 2, 'x\r\nx-smuggled: c'],
        ['a line end in the scheme', 1, 'https\r\nx: y'],
      ])('%s', async (_, at, value) => {
        const fields = usual().map(([name, given], index): Fields[number] => [name, index === at ? value : given]);
        expect(await sendHeaderFields(fixture.preview, fields)).toBe('refused');
      });
    });
  });
}
