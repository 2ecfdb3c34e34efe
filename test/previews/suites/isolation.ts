import { describe, expect, it } from 'vitest';
import { call, type SandboxBody } from '../../support/api-requests.ts';
import { addAccount } from '../../support/conformance/accounts.ts';
import { connectHttp2, nextMessage, openWebSocket } from '../../support/previews/connections.ts';
import {
  closePreview,
  type OpenPreview,
  openPreview,
  type PreviewFixture,
} from '../../support/previews/preview-fixture.ts';
import { protocols, requestHttp2, responseHead, visit, visitJson } from '../../support/previews/visit.ts';

/** A request as guest/server.mjs received it. */
interface ReceivedRequest {
  readonly method: string;
  readonly url: string;
  readonly rawHeaders: readonly string[];
}

/** Every header in which a browser or a proxy may reveal the preview's host name. */
function revealingHeaders({ url, token }: OpenPreview) {
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
}

/** All values of a header, by its lower-case name. */
function valuesOf(rawHeaders: readonly string[], name: string): string[] {
  return rawHeaders.filter((_, at) => at % 2 === 1 && rawHeaders[at - 1]?.toLowerCase() === name);
}

/** The server sees a visit to localhost and nothing that contains the token. */
function expectShownAsLocalhost(rawHeaders: readonly string[], { token }: OpenPreview, port: number): void {
  expect(rawHeaders.join('\n').toLowerCase()).not.toContain(token.toLowerCase());
  const shown = (name: string) => valuesOf(rawHeaders, name);
  expect(shown('host')).toEqual([`localhost:${port}`]);
  expect(shown('origin')).toEqual([`http://localhost:${port}`]);
  expect(shown('x-forwarded-host')).toEqual([`localhost:${port}`]);
  expect(shown('x-forwarded-proto')).toEqual(['https']);
  expect(shown('x-forwarded-for')).toEqual(['127.0.0.1']);
}

/** The host name that a sandbox has inside. */
function hostnameOf({ id }: SandboxBody): string {
  return id.replaceAll('_', '-');
}

/** What servers, visitors and other accounts must not see or reach. */
export function describeIsolation(fixture: PreviewFixture) {
  return describe('isolation', () => {
    describe('the server sees a visit to localhost and never the token', () => {
      it.each(protocols)('in a request over %s', async (protocol) => {
        const headers = revealingHeaders(fixture.preview);
        const seen = await visitJson<ReceivedRequest>(fixture.preview, '/seen?a=b%20c&d', { headers, protocol });
        expect([seen.method, seen.url]).toEqual(['GET', '/seen?a=b%20c&d']);
        expectShownAsLocalhost(seen.rawHeaders, fixture.preview, fixture.port);
        expect(valuesOf(seen.rawHeaders, 'referer')).toEqual([`http://localhost:${fixture.port}/page?x=1`]);
      });

      it('in a WebSocket handshake', async () => {
        const socket = await openWebSocket(fixture.preview, '/socket/seen', revealingHeaders(fixture.preview));
        const seen = JSON.parse(await nextMessage(socket)) as string[];
        expectShownAsLocalhost(seen, fixture.preview, fixture.port);
        socket.terminate();
      });

      it('and never an API key that a visitor sends by mistake', async () => {
        const headers = { authorization: `Bearer ${fixture.service.key}` };
        const { rawHeaders } = await visitJson<ReceivedRequest>(fixture.preview, '/seen', { headers });
        expect(rawHeaders.join('\n')).not.toContain(fixture.service.key);
        const own = { authorization: 'Bearer of-the-server-itself' };
        expect(
          valuesOf(
            (await visitJson<ReceivedRequest>(fixture.preview, '/seen', { headers: own })).rawHeaders,
            'authorization',
          ),
        ).toEqual([own.authorization]);
      });
    });

    describe('two sandboxes with the same port', () => {
      it('have different URLs, and each leads to its own server', async () => {
        const { copy } = await fixture.copied();
        const its = await openPreview(fixture.service, copy.id, fixture.port);
        expect(its.token).not.toBe(fixture.preview.token);
        // The same program serves both. It knows only the name of its own machine.
        expect((await visit(its, '/hostname')).text).toBe(hostnameOf(copy));
        expect((await visit(fixture.preview, '/hostname')).text).toBe(hostnameOf(fixture.sandbox));
        await closePreview(fixture.service, copy.id, fixture.port);
        const { status, text } = await visit(fixture.preview);
        expect([status, text]).toEqual([200, expect.stringContaining('Node server')]);
      });

      it('get a new, unpredictable URL when reopened', async () => {
        const first = await openPreview(fixture.service, fixture.sandbox.id, 3999);
        await closePreview(fixture.service, fixture.sandbox.id, 3999);
        const second = await openPreview(fixture.service, fixture.sandbox.id, 3999);
        expect(second.token).not.toBe(first.token);
        expect(new Set(second.token).size).toBeGreaterThan(8);
        expect((await visit(first)).status).toBe(404);
      });
    });

    it('an account can neither list, close nor open the previews of another', async () => {
      const otherAccount = { url: fixture.service.url, key: await addAccount(fixture.service.core, {}) };
      const ports = `/sandboxes/${fixture.sandbox.id}/ports`;
      expect((await call(otherAccount, 'GET', ports)).status).toBe(404);
      expect((await call(otherAccount, 'DELETE', `${ports}/${fixture.port}`)).status).toBe(404);
      expect((await call(otherAccount, 'POST', ports, { port: fixture.port })).status).toBe(404);
      expect((await visit(fixture.preview)).status).toBe(200);
    });

    describe('a connection', () => {
      it('for one preview serves no other: 421, so that the browser opens another connection', async () => {
        const other = await openPreview(fixture.service, fixture.sandbox.id, 3998);
        const host = new URL(other.url).host;
        expect((await visit(fixture.preview, '/', { headers: { host } })).status).toBe(421);
        const session = await connectHttp2(fixture.preview);
        const misdirected = requestHttp2(session, '/', { headers: { ':authority': host } });
        expect((await responseHead(misdirected)).status).toBe(421);
        misdirected.resume();
        expect((await responseHead(requestHttp2(session, '/'))).status).toBe(200);
        session.destroy();
      });

      it('to an unknown name gets a 404, as HTML or JSON, that does not differ from the 404 of a closed preview', async () => {
        const url = fixture.preview.url.replace(
          fixture.preview.token,
          fixture.preview.token.replace(/./, (first) => (first === 'a' ? 'b' : 'a')),
        );
        const closed = await openPreview(fixture.service, fixture.sandbox.id, 3997);
        await closePreview(fixture.service, fixture.sandbox.id, 3997);
        const responses = await Promise.all([{ ...fixture.preview, url }, closed].map((address) => visit(address)));
        expect(responses.map(({ status }) => status)).toEqual([404, 404]);
        expect(responses[0]?.text).toBe(responses[1]?.text);
        expect(JSON.parse(responses[0]?.text ?? '')).toMatchObject({ error: { message: expect.any(String) } });
        const page = await visit({ ...fixture.preview, url }, '/', { headers: { accept: 'text/html,*/*;q=0.8' } });
        expect([page.status, page.headers['content-type']]).toEqual([404, expect.stringContaining('text/html')]);
      });
    });

    describe('when nothing listens on the port', () => {
      it('the response is a 502 that explains it, as HTML or JSON', async () => {
        const silent = await openPreview(fixture.service, fixture.sandbox.id, 4321);
        const [json, page] = await Promise.all([
          visit(silent),
          visit(silent, '/', { headers: { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }, protocol: 'HTTP/2' }),
          expect(openWebSocket(silent)).rejects.toThrow('502'),
        ]);
        expect([json.status, json.headers['content-type']]).toEqual([502, expect.stringContaining('application/json')]);
        expect(JSON.parse(json.text)).toMatchObject({ error: { message: expect.stringMatching(/4321/) } });
        expect([page.status, page.headers['content-type']]).toEqual([502, expect.stringContaining('text/html')]);
        expect(page.text).toMatch(/4321/);
      });

      it('the gateway waits for a server that is just starting', async () => {
        const soon = await openPreview(fixture.service, fixture.sandbox.id, 4322);
        await visit(fixture.preview, '/listen?port=4322&after=1000');
        const { status, text } = await visit(soon);
        expect([status, text]).toEqual([200, 'late']);
      });
    });

    it('a server can refuse a WebSocket', async () => {
      await expect(openWebSocket(fixture.preview, '/refused')).rejects.toThrow('403');
    });
  });
}
