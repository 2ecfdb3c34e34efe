import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { addAccount } from '../support/conformance/accounts.ts';
import { call, createSandbox, output, type SandboxBody } from '../support/http.ts';
import { connectHttp2 } from '../support/previews/connect-http2.ts';
import { pythonServer, startNodeServer, startServer } from '../support/previews/guest-server.ts';
import { closePreview, type OpenPreview, openPreview } from '../support/previews/open-preview.ts';
import { nextMessage, openSocket } from '../support/previews/socket.ts';
import { askHttp2, headOf, protocols, visit, visitJson } from '../support/previews/visit.ts';
import { startTestService, type TestService } from '../support/service.ts';

const port = 3000;
let service: TestService;
let sandbox: SandboxBody;
let preview: OpenPreview;
beforeAll(async () => {
  service = await startTestService();
  sandbox = await createSandbox(service);
  await startNodeServer(service, sandbox.id, port);
  preview = await openPreview(service, sandbox.id, port);
});
afterAll(() => service.stop());

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

const expectShownAsLocalhost = (rawHeaders: readonly string[], token: string): void => {
  expect(rawHeaders.join('\n').toLowerCase()).not.toContain(token.toLowerCase());
  const shown = (name: string) => valuesOf(rawHeaders, name);
  expect(shown('host')).toEqual([`localhost:${port}`]);
  expect(shown('origin')).toEqual([`http://localhost:${port}`]);
  expect(shown('x-forwarded-host')).toEqual([`localhost:${port}`]);
  expect(shown('x-forwarded-proto')).toEqual(['https']);
  expect(shown('x-forwarded-for')).toEqual(['127.0.0.1']);
};

describe('the server in a sandbox is shown a visit to localhost and never learns the token', () => {
  it.each(protocols)('in a request over %s', async (protocol) => {
    const headers = tellingHeaders(preview);
    const seen = await visitJson<Seen>(preview, '/seen?a=b%20c&d', { headers, protocol });
    expect([seen.method, seen.url]).toEqual(['GET', '/seen?a=b%20c&d']);
    expectShownAsLocalhost(seen.rawHeaders, preview.token);
    expect(valuesOf(seen.rawHeaders, 'referer')).toEqual([`http://localhost:${port}/page?x=1`]);
  });

  it('in a WebSocket’s handshake', async () => {
    const socket = await openSocket(preview, '/socket/seen', tellingHeaders(preview));
    const seen = JSON.parse(await nextMessage(socket)) as string[];
    expectShownAsLocalhost(seen, preview.token);
    socket.terminate();
  });

  it('nor an API key that somebody sends by mistake', async () => {
    const headers = { authorization: `Bearer ${service.key}` };
    const { rawHeaders } = await visitJson<Seen>(preview, '/seen', { headers });
    expect(rawHeaders.join('\n')).not.toContain(service.key);
    const own = { authorization: 'Bearer of-the-server-itself' };
    expect(valuesOf((await visitJson<Seen>(preview, '/seen', { headers: own })).rawHeaders, 'authorization')).toEqual([
      own.authorization,
    ]);
  });
});

describe('two sandboxes with the same port', () => {
  it('have different URLs that lead to each of them', async () => {
    const other = await createSandbox(service);
    await output(service, other.id, 'mkdir www && echo other > www/index.html');
    await startServer(service, other.id, pythonServer('www', port), port);
    const others = await openPreview(service, other.id, port);
    expect(others.token).not.toBe(preview.token);
    expect((await visit(others)).text.trim()).toBe('other');
    expect((await visit(preview)).text).toContain('Node server');
    await closePreview(service, other.id, port);
    expect((await visit(preview)).status).toBe(200);
  });

  it('open again after a close have a URL of which nothing was known', async () => {
    const first = await openPreview(service, sandbox.id, 3999);
    await closePreview(service, sandbox.id, 3999);
    const second = await openPreview(service, sandbox.id, 3999);
    expect(second.token).not.toBe(first.token);
    expect(new Set(second.token).size).toBeGreaterThan(8);
    expect((await visit(first)).status).toBe(404);
  });
});

it('an account can neither list nor close nor open the previews of another', async () => {
  const stranger = { url: service.url, key: await addAccount(service.core, {}) };
  const ports = `/sandboxes/${sandbox.id}/ports`;
  expect((await call(stranger, 'GET', ports)).status).toBe(404);
  expect((await call(stranger, 'DELETE', `${ports}/${port}`)).status).toBe(404);
  expect((await call(stranger, 'POST', ports, { port })).status).toBe(404);
  expect((await visit(preview)).status).toBe(200);
});

describe('a connection', () => {
  it('for one preview serves no other: 421, so that a browser takes another connection', async () => {
    const other = await openPreview(service, sandbox.id, 3998);
    const host = new URL(other.url).host;
    expect((await visit(preview, '/', { headers: { host } })).status).toBe(421);
    const session = await connectHttp2(preview);
    const misdirected = askHttp2(session, '/', { headers: { ':authority': host } });
    expect((await headOf(misdirected)).status).toBe(421);
    misdirected.resume();
    expect((await headOf(askHttp2(session, '/'))).status).toBe(200);
    session.destroy();
  });

  it('for an unknown name is a 404 for people and for programs, and is not told apart from a closed one', async () => {
    const url = preview.url.replace(
      preview.token,
      preview.token.replace(/./, (first) => (first === 'a' ? 'b' : 'a')),
    );
    const closed = await openPreview(service, sandbox.id, 3997);
    await closePreview(service, sandbox.id, 3997);
    const answers = await Promise.all([{ ...preview, url }, closed].map((place) => visit(place)));
    expect(answers.map(({ status }) => status)).toEqual([404, 404]);
    expect(answers[0]?.text).toBe(answers[1]?.text);
    expect(JSON.parse(answers[0]?.text ?? '')).toMatchObject({ error: { message: expect.any(String) } });
    const page = await visit({ ...preview, url }, '/', { headers: { accept: 'text/html,*/*;q=0.8' } });
    expect([page.status, page.headers['content-type']]).toEqual([404, expect.stringContaining('text/html')]);
  });
});

describe('where nothing listens', () => {
  it('the answer is a 502 that says so, a page for people and JSON for programs', async () => {
    const silent = await openPreview(service, sandbox.id, 4321);
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
    const soon = await openPreview(service, sandbox.id, 4322);
    await visit(preview, '/listen?port=4322&after=1000');
    const { status, text } = await visit(soon);
    expect([status, text]).toEqual([200, 'late']);
  });
});

it('a server that refuses a WebSocket is heard', async () => {
  await expect(openSocket(preview, '/refused')).rejects.toThrow('403');
});
