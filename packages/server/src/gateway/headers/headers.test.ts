import { expect, test } from 'vitest';
import { type Arrival, headersForGuest } from './for-guest.ts';
import { headersForVisitor } from './for-visitor.ts';

const token = 'k7f3q2m9x4';
const host = `${token}.localhost:8443`;

function arrive(rawHeaders: readonly string[], more: Partial<Arrival> = {}) {
  return headersForGuest({
    rawHeaders: ['Host', host, ...rawHeaders],
    token,
    domain: 'localhost',
    port: 3000,
    forwardedFor: '203.0.113.9',
    foreignOrigin: undefined,
    ...more,
  });
}

function depart(rawHeaders: readonly string[], port = 3000, origin?: { sent: string; seen: string }) {
  return { ...headersForVisitor({ rawHeaders, publicHost: host, port, origin }) };
}

test('the server is visited at localhost and hears who came, and how', () => {
  expect({ ...arrive(['Accept', '*/*']) }).toEqual({
    accept: '*/*',
    host: 'localhost:3000',
    'x-forwarded-for': '203.0.113.9',
    'x-forwarded-proto': 'https',
    'x-forwarded-host': 'localhost:3000',
  });
});

test('the token is in no header, wherever the browser put it', () => {
  const headers = arrive([
    ...['Origin', `https://${host}`],
    ...['Referer', `https://${host}/a/b?c=d`],
    ...['HX-Current-URL', `https://${host.toUpperCase()}/a`],
    ...['X-Only', `<${token}>`],
    ...['Alt-Used', host],
  ]);
  expect(JSON.stringify(headers)).not.toMatch(new RegExp(token, 'i'));
  expect(headers).toMatchObject({
    origin: 'http://localhost:3000',
    referer: 'http://localhost:3000/a/b?c=d',
    'hx-current-url': 'http://localhost:3000/a',
    'x-only': '<localhost:3000>',
  });
});

test("another preview's address does not reach the server either", () => {
  const other = 'https://zzz999.localhost:8443';
  const foreign = arrive(['Origin', other, 'Referer', `${other}/`], { foreignOrigin: 'null' });
  expect(foreign.origin).toBe('null');
  expect(foreign.referer).toBeUndefined();
  expect(arrive(['Origin', other], { foreignOrigin: 'http://localhost:8000' }).origin).toBe('http://localhost:8000');
});

test('origins and referrers that are no previews stay as they are', () => {
  const headers = arrive(['Origin', 'https://example.com', 'Referer', 'https://example.com/x']);
  expect(headers).toMatchObject({ origin: 'https://example.com', referer: 'https://example.com/x' });
});

test('what a visitor claims about its way here is not believed', () => {
  const headers = arrive([
    ...['X-Forwarded-For', '1.2.3.4', 'X-Forwarded-Proto', 'http', 'X-Forwarded-Host', 'evil.example'],
    ...['Forwarded', 'for=1.2.3.4', 'X-Real-IP', '1.2.3.4', 'X-Forwarded-Port', '1'],
  ]);
  expect(JSON.stringify(headers)).not.toMatch(/1\.2\.3\.4|evil|forwarded-port/);
});

test('headers of one connection only, and those it names, stop here', () => {
  const headers = arrive([
    ...['Connection', 'keep-alive, X-Secret', 'Keep-Alive', '5', 'X-Secret', '1', 'TE', 'trailers'],
    ...['Transfer-Encoding', 'chunked', 'Upgrade', 'h2c', 'HTTP2-Settings', 'x', 'Proxy-Authorization', 'Basic x'],
    ...['Expect', '100-continue'],
  ]);
  expect(Object.keys(headers).toSorted()).toEqual(['host', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto']);
});

test("HTTP/2's own headers stop here, and cookies that it sent in pieces become one", () => {
  const headers = arrive([':method', 'GET', ':path', '/', ':authority', host, 'cookie', 'a=1', 'cookie', 'b=2']);
  expect(Object.keys(headers).filter((name) => name.startsWith(':'))).toEqual([]);
  expect(headers.cookie).toBe('a=1; b=2');
});

test('an API key of Mayfly is not handed to a sandbox; other credentials are', () => {
  expect(arrive(['Authorization', 'Bearer mf_live_key']).authorization).toBeUndefined();
  expect(arrive(['Authorization', 'Bearer eyJhbGci']).authorization).toBe('Bearer eyJhbGci');
});

test('headers that come more than once stay more than one', () => {
  expect(arrive(['X-A', '1', 'x-a', '2'])['x-a']).toEqual(['1', '2']);
});

test.each([
  ['http://localhost:3000/next', `https://${host}/next`],
  ['https://localhost:3000/next', `https://${host}/next`],
  ['http://127.0.0.1:3000?x=1', `https://${host}?x=1`],
  ['http://[::1]:3000', `https://${host}`],
  ['/next', '/next'],
  ['https://example.com/http://localhost:3000/', 'https://example.com/http://localhost:3000/'],
  ['http://localhost:3001/', 'http://localhost:3001/'],
  ['http://localhost:3000.evil.example/', 'http://localhost:3000.evil.example/'],
])('a redirect to %s leads to %s', (location, expected) => {
  expect(depart(['Location', location]).location).toBe(expected);
});

test('a server on port 80 or 443 may leave its port out', () => {
  expect(depart(['Location', 'http://localhost/x'], 80).location).toBe(`https://${host}/x`);
  expect(depart(['Location', 'https://localhost/x'], 443).location).toBe(`https://${host}/x`);
  expect(depart(['Location', 'http://localhost/x'], 3000).location).toBe('http://localhost/x');
});

test('cookies stay with the preview that set them', () => {
  const cookies = ['a=1; Domain=localhost; Path=/', 'b=2; Secure; domain = .example.com', 'c=domain=3; Path=/'];
  const headers = depart(cookies.flatMap((cookie) => ['Set-Cookie', cookie]));
  expect(headers['set-cookie']).toEqual(['a=1; Path=/', 'b=2; Secure', 'c=domain=3; Path=/']);
});

test('who was allowed in by the origin that the server saw is allowed in by its real one', () => {
  const origin = { sent: 'https://other.localhost:8443', seen: 'http://localhost:8000' };
  const allow = (value: string) =>
    depart(['Access-Control-Allow-Origin', value], 3000, origin)['access-control-allow-origin'];
  expect(allow(origin.seen)).toBe(origin.sent);
  expect(allow('*')).toBe('*');
  expect(allow('https://else.example')).toBe('https://else.example');
});

test('no alternative service leads past the gateway', () => {
  expect(depart(['Alt-Svc', 'h2=":443"', 'Content-Type', 'text/plain'])).toEqual({ 'content-type': 'text/plain' });
});
