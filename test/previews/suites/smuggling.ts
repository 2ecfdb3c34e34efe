import { describe, expect, it } from 'vitest';
import { connectHttp2 } from '../../support/previews/connect-http2.ts';
import { type Fields, sendFields } from '../../support/previews/http2-frames.ts';
import { speak } from '../../support/previews/speak.ts';
import { askHttp2, headOf, visit } from '../../support/previews/visit.ts';
import type { Visited } from '../../support/previews/visited.ts';
import { ambiguous, lines } from './ambiguous.ts';

/** The status lines of all answers in what came back. */
const statuses = (text: string): number[] =>
  Array.from(text.matchAll(/HTTP\/1\.1 (\d{3})/g), ([, status]) => Number(status));

/** No request is one thing for the gateway and another for the server. */
export const smuggling = (visited: Visited) =>
  describe('requests that may be read in two ways', () => {
    const host = () => new URL(visited.preview.url).host;

    describe('a request that may be read in two ways is refused and its connection closed', () => {
      it.each(Object.entries(ambiguous))('%s', async (_, request) => {
        const came = await speak(visited.preview, request(host()));
        for (const status of statuses(came)) expect([400, 421, 431, 501]).toContain(status);
        expect(statuses(came).length).toBeLessThanOrEqual(1);
        expect(came).not.toContain('hidden');
      });
    });

    describe('what is allowed but unusual is harmless', () => {
      it('an upgrade to HTTP/2 in clear is not taken, and not offered to the server', async () => {
        const head = [
          'GET /seen HTTP/1.1',
          `host: ${host()}`,
          'connection: close, upgrade, http2-settings',
          'upgrade: h2c',
        ];
        const came = await speak(visited.preview, lines(...head, 'http2-settings: AAMAAABkAARAAAAAAAIAAAAA', ''));
        expect(statuses(came)).toHaveLength(1);
        expect(came).not.toMatch(/ 101 |h2c|http2-settings/i);
      });

      it('headers named in Connection are not passed on', async () => {
        const head = [
          'GET /seen HTTP/1.1',
          `host: ${host()}`,
          'connection: close, x-secret',
          'x-secret: 1',
          'x-open: 1',
        ];
        const came = await speak(
          visited.preview,
          lines(...head, 'proxy-authorization: Basic eA==', 'te: trailers', ''),
        );
        expect(statuses(came)).toEqual([200]);
        expect(came).toContain('x-open');
        expect(came).not.toMatch(/x-secret|proxy-authorization/);
      });

      it('Connection cannot take away what the gateway says', async () => {
        const head = [
          'GET /seen HTTP/1.1',
          `host: ${host()}`,
          'connection: close, x-forwarded-for, host, x-forwarded-proto',
        ];
        const came = await speak(visited.preview, lines(...head, ''));
        expect(statuses(came)).toEqual([200]);
        expect(came).toContain('x-forwarded-for');
        expect(came).toContain(`localhost:${visited.port}`);
      });

      it('a whole URL, another host’s or CONNECT as the target lead nowhere else', async () => {
        for (const target of [
          'GET http://192.0.2.1/seen',
          'GET https://192.0.2.1/',
          'CONNECT localhost:22',
          'GET seen',
        ]) {
          const came = await speak(
            visited.preview,
            lines(`${target} HTTP/1.1`, `host: ${host()}`, 'connection: close', ''),
          );
          expect(came).not.toContain('192.0.2.1');
          for (const status of statuses(came)) expect([400, 405, 421, 501]).toContain(status);
        }
      });

      it('one request after another in one piece is answered one by one', async () => {
        const ask = (path: string, more: string[] = []) =>
          lines(`GET ${path} HTTP/1.1`, `host: ${host()}`, ...more, '');
        const came = await speak(
          visited.preview,
          ask('/seen?1') + ask('/seen?2') + ask('/seen?3', ['connection: close']),
        );
        expect(Array.from(came.matchAll(/seen\?(\d)/g), ([, number]) => number)).toEqual(['1', '2', '3']);
      });
    });

    describe('heads that are too large are refused before a sandbox sees them', () => {
      it('over HTTP/1.1', async () => {
        const came = await speak(
          visited.preview,
          lines('GET /seen HTTP/1.1', `host: ${host()}`, `x-large: ${'x'.repeat(70_000)}`, ''),
        );
        expect([431, undefined]).toContain(statuses(came)[0]);
        expect(came).not.toContain('seen');
        const many = Array.from({ length: 5_000 }, (_, at) => `x-${at}: y`);
        const all = await speak(visited.preview, lines('GET /seen HTTP/1.1', `host: ${host()}`, ...many, ''));
        expect([431, undefined]).toContain(statuses(all)[0]);
        expect(all).not.toContain('seen');
      });

      it('over HTTP/2', async () => {
        const session = await connectHttp2(visited.preview);
        const large = askHttp2(session, '/seen', { headers: { 'x-large': 'x'.repeat(100_000) } });
        const outcome = await headOf(large).then(
          ({ status }) => status,
          () => 'refused',
        );
        expect([431, 'refused']).toContain(outcome);
        session.destroy();
        expect((await visit(visited.preview, '/seen', { protocol: 'HTTP/2' })).status).toBe(200);
      });

      it('as are those of an answer', async () => {
        expect((await visit(visited.preview, '/huge-headers')).status).toBe(502);
      });
    });

    describe('an HTTP/2 request whose headers would be others in HTTP/1.1 never gets to a server', () => {
      const usual = (path = '/seen', method = 'GET'): Fields => [
        [':method', method],
        [':scheme', 'https'],
        [':authority', host()],
        [':path', path],
      ];

      it('while the same without them does', async () => {
        const plain = await sendFields(visited.preview, [...usual(), ['x-plain', 'value']]);
        expect(plain).toEqual({ body: expect.stringContaining('"x-plain","value"') });
        const upload = await sendFields(visited.preview, [...usual('/upload', 'POST'), ['content-length', '3']], 'abc');
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
        const reception = await sendFields(visited.preview, [...usual('/seen', 'POST'), extra], 'abc');
        // A header that is none may also be left out.
        if (reception !== 'refused') expect(reception.body).not.toMatch(/smuggled/i);
      });

      it.each([
        ['a length of a longer body', '5'],
        ['a length of a shorter body', '2'],
        ['a length that is no number', '3x'],
      ])('%s', async (_, length) => {
        const fields: Fields = [...usual('/upload', 'POST'), ['content-length', length]];
        expect(await sendFields(visited.preview, fields, 'abc')).toBe('refused');
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
        expect(await sendFields(visited.preview, fields)).toBe('refused');
      });
    });
  });
