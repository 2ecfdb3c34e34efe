import { describe, expect, it } from 'vitest';
import { addAccount } from '../../support/conformance/accounts.ts';
import { call, createSandbox, output } from '../../support/http.ts';
import { connectHttp2 } from '../../support/previews/connect-http2.ts';
import { pythonServer, startServer } from '../../support/previews/guest-server.ts';
import { closePreview, type OpenPreview, openPreview } from '../../support/previews/open-preview.ts';
import { nextMessage, openSocket } from '../../support/previews/socket.ts';
import { askHttp2, headOf, protocols, visit, visitJson } from '../../support/previews/visit.ts';
import type { Visited } from '../../support/previews/visited.ts';

interface Seen {
  readonly method: string;
  readonly url: string;
  readonly rawHeaders: readonly string[];
}

/** Every place of a request where a browser or a proxy may put its address. */
const tellingHeaders = ({ url, token }: OpenPreview) => {
  const { origin, host } = new URL(url);
  return {
    origin,
    referer: `${origin}/page?x=1`,
    cookie: `at=${token}`,
    forwarded: `for=192.0.2.1;host=${host};proto=http`,
    'x-forwarded-host': host,
    'x-forwarded-for': '192.0.2.1',
    'x-forwarded-proto': 'http',
    'x-original-host': host.toUpperCase(),
  };
};

/** All values of a header, by its lower-case name. */
const valuesOf = (rawHeaders: readonly string[], name: string): string[] =>
  rawHeaders.filter((_, at) => at % 2 === 1 && rawHeaders[at - 1]?.toLowerCase() === name);

const expectShownAsLocalhost = (rawHeaders: readonly string[], { token }: OpenPreview, port: number): void => {
  expect(rawHeaders.join('\n').toLowerCase()).not.toContain(token.toLowerCase());
  const shown = (name: string) => valuesOf(rawHeaders, name);
  expect(shown('host')).toEqual([`localhost:${port}`]);
  expect(shown('origin')).toEqual([`http://localhost:${port}`]);
  expect(shown('x-forwarded-host')).toEqual([`localhost:${port}`]);
  expect(shown('x-forwarded-proto')).toEqual(['https']);
  expect(shown('x-forwarded-for')).toEqual(['127.0.0.1']);
};

/** What a server, a visitor and another account do not get to see. */
export const walls = (visited: Visited) =>
  describe('walls', () => {
    describe('the server in a sandbox is shown a visit to localhost and never learns the token', () => {
      it.each(protocols)('in a request over %s', async (protocol) => {
        const headers = tellingHeaders(visited.preview);
        const seen = await visitJson<Seen>(visited.preview, '/seen?a=b%20c&d', { headers, protocol });
        expect([seen.method, seen.url]).toEqual(['GET', '/seen?a=b%20c&d']);
        expectShownAsLocalhost(seen.rawHeaders, visited.preview, visited.port);
        expect(valuesOf(seen.rawHeaders, 'referer')).toEqual([`http://localhost:${visited.port}/page?x=1`]);
      });

      it('in a WebSocket’s handshake', async () => {
        const socket = await openSocket(visited.preview, '/socket/seen', tellingHeaders(visited.preview));
        const seen = JSON.parse(await nextMessage(socket)) as string[];
        expectShownAsLocalhost(seen, visited.preview, visited.port);
        socket.terminate();
      });

      it('nor an API key that somebody sends by mistake', async () => {
        const headers = { authorization: `Bearer ${visited.service.key}` };
        const { rawHeaders } = await visitJson<Seen>(visited.preview, '/seen', { headers });
        expect(rawHeaders.join('\n')).not.toContain(visited.service.key);
        const own = { authorization: 'Bearer of-the-server-itself' };
        expect(
          valuesOf((await visitJson<Seen>(visited.preview, '/seen', { headers: own })).rawHeaders, 'authorization'),
        ).toEqual([own.authorization]);
      });
    });

    describe('two sandboxes with the same port', () => {
      it('have different URLs that lead to each of them', async () => {
        const other = await createSandbox(visited.service);
        await output(visited.service, other.id, 'mkdir www && echo other > www/index.html');
        await startServer(visited.service, other.id, pythonServer('www', visited.port), visited.port);
        const others = await openPreview(visited.service, other.id, visited.port);
        expect(others.token).not.toBe(visited.preview.token);
        expect((await visit(others)).text.trim()).toBe('other');
        expect((await visit(visited.preview)).text).toContain('Node server');
        await closePreview(visited.service, other.id, visited.port);
        expect((await visit(visited.preview)).status).toBe(200);
      });

      it('open again after a close have a URL of which nothing was known', async () => {
        const first = await openPreview(visited.service, visited.sandbox.id, 3999);
        await closePreview(visited.service, visited.sandbox.id, 3999);
        const second = await openPreview(visited.service, visited.sandbox.id, 3999);
        expect(second.token).not.toBe(first.token);
        expect(new Set(second.token).size).toBeGreaterThan(8);
        expect((await visit(first)).status).toBe(404);
      });
    });

    it('an account can neither list nor close nor open the previews of another', async () => {
      const stranger = { url: visited.service.url, key: await addAccount(visited.service.core, {}) };
      const ports = `/sandboxes/${visited.sandbox.id}/ports`;
      expect((await call(stranger, 'GET', ports)).status).toBe(404);
      expect((await call(stranger, 'DELETE', `${ports}/${visited.port}`)).status).toBe(404);
      expect((await call(stranger, 'POST', ports, { port: visited.port })).status).toBe(404);
      expect((await visit(visited.preview)).status).toBe(200);
    });

    describe('a connection', () => {
      it('for one preview serves no other: 421, so that a browser takes another connection', async () => {
        const other = await openPreview(visited.service, visited.sandbox.id, 3998);
        const host = new URL(other.url).host;
        expect((await visit(visited.preview, '/', { headers: { host } })).status).toBe(421);
        const session = await connectHttp2(visited.preview);
        const misdirected = askHttp2(session, '/', { headers: { ':authority': host } });
        expect((await headOf(misdirected)).status).toBe(421);
        misdirected.resume();
        expect((await headOf(askHttp2(session, '/'))).status).toBe(200);
        session.destroy();
      });

      it('for an unknown name is a 404 for people and for programs, and is not told apart from a closed one', async () => {
        const url = visited.preview.url.replace(
          visited.preview.token,
          visited.preview.token.replace(/./, (first) => (first === 'a' ? 'b' : 'a')),
        );
        const closed = await openPreview(visited.service, visited.sandbox.id, 3997);
        await closePreview(visited.service, visited.sandbox.id, 3997);
        const answers = await Promise.all([{ ...visited.preview, url }, closed].map((place) => visit(place)));
        expect(answers.map(({ status }) => status)).toEqual([404, 404]);
        expect(answers[0]?.text).toBe(answers[1]?.text);
        expect(JSON.parse(answers[0]?.text ?? '')).toMatchObject({ error: { message: expect.any(String) } });
        const page = await visit({ ...visited.preview, url }, '/', { headers: { accept: 'text/html,*/*;q=0.8' } });
        expect([page.status, page.headers['content-type']]).toEqual([404, expect.stringContaining('text/html')]);
      });
    });

    describe('where nothing listens', () => {
      it('the answer is a 502 that says so, a page for people and JSON for programs', async () => {
        const silent = await openPreview(visited.service, visited.sandbox.id, 4321);
        const [json, page] = await Promise.all([
          visit(silent),
          visit(silent, '/', { headers: { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }, protocol: 'HTTP/2' }),
          expect(openSocket(silent)).rejects.toThrow('502'),
        ]);
        expect([json.status, json.headers['content-type']]).toEqual([502, expect.stringContaining('application/json')]);
        expect(JSON.parse(json.text)).toMatchObject({ error: { message: expect.stringMatching(/4321/) } });
        expect([page.status, page.headers['content-type']]).toEqual([502, expect.stringContaining('text/html')]);
        expect(page.text).toMatch(/4321/);
      });

      it('a server that is just starting is waited for', async () => {
        const soon = await openPreview(visited.service, visited.sandbox.id, 4322);
        await visit(visited.preview, '/listen?port=4322&after=1000');
        const { status, text } = await visit(soon);
        expect([status, text]).toEqual([200, 'late']);
      });
    });

    it('a server that refuses a WebSocket is heard', async () => {
      await expect(openSocket(visited.preview, '/refused')).rejects.toThrow('403');
    });
  });
