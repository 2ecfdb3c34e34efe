import { expect, test } from 'vitest';
import { headersForGuest, type InboundHeaders } from './for-guest.ts';
import { headersForVisitor } from './for-visitor.ts';

const token = 'k7f3q2m9x4';
const host = `${token}.localhost:8443`;

function inbound(rawHeaders: readonly string[], more: Partial<InboundHeaders> = {}) {
  return headersForGuest({
    rawHeaders: ['Host', host, ...rawHeaders],
    token,
    domain: 'localhost',
    port: 3000,
    forwardedFor: '203.0.113.9',
    foreignOrigin: undefined,
    holdsApiKey: false,
    ...more,
  });
}

function outbound(rawHeaders: readonly string[], port = 3000, origin?: { sent: string; seen: string }) {
  return { ...headersForVisitor({ rawHeaders, publicHost: host, port, origin }) };
}

test('the server sees localhost as its host, and the address and protocol of the visitor', () => {
  expect({ ...inbound(['Accept', '*/*']) }).toEqual({
    accept: '*/*',
    host: 'localhost:3000',
    'x-forwarded-for': '203.0.113.9',
    'x-forwarded-proto': 'https',
    'x-forwarded-host': 'localhost:3000',
  });
});

test('removes the token from every header', () => {
  const headers = inbound([
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

test('removes the address of another preview', () => {
  const other = 'https://zzz999.localhost:8443';
  const foreign = inbound(['Origin', other, 'Referer', `${other}/`], { foreignOrigin: 'null' });
  expect(foreign.origin).toBe('null');
  expect(foreign.referer).toBeUndefined();
  expect(inbound(['Origin', other], { foreignOrigin: 'http://localhost:8000' }).origin).toBe('http://localhost:8000');
});

test('leaves other origins and referrers unchanged', () => {
  const headers = inbound(['Origin', 'https://example.com', 'Referer', 'https://example.com/x']);
  expect(headers).toMatchObject({ origin: 'https://example.com', referer: 'https://example.com/x' });
});

test('ignores forwarding headers that the visitor sent', () => {
  const headers = inbound([
    ...['X-Forwarded-For', '1.2.3.4', 'X-Forwarded-Proto', 'http', 'X-Forwarded-Host', 'evil.example'],
    ...['Forwarded', 'for=1.2.3.4', 'X-Real-IP', '1.2.3.4', 'X-Forwarded-Port', '1'],
  ]);
  expect(JSON.stringify(headers)).not.toMatch(/1\.2\.3\.4|evil|forwarded-port/);
});

test('removes hop-by-hop headers and those that Connection lists', () => {
  const headers = inbound([
    ...['Connection', 'keep-alive, X-Secret', 'Keep-Alive', '5', 'X-Secret', '1', 'TE', 'trailers'],
    ...['Transfer-Encoding', 'chunked', 'Upgrade', 'h2c', 'HTTP2-Settings', 'x', 'Proxy-Authorization', 'Basic x'],
    ...['Expect', '100-continue'],
  ]);
  expect(Object.keys(headers).toSorted()).toEqual(['host', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto']);
});

test('removes HTTP/2 pseudo-headers and joins split cookies', () => {
  const headers = inbound([':method', 'GET', ':path', '/', ':authority', host, 'cookie', 'a=1', 'cookie', 'b=2']);
  expect(Object.keys(headers).filter((name) => name.startsWith(':'))).toEqual([]);
  expect(headers.cookie).toBe('a=1; b=2');
});

test('removes a Mayfly API key but keeps other credentials', () => {
  expect(inbound(['Authorization', 'Bearer key'], { holdsApiKey: true }).authorization).toBeUndefined();
  expect(inbound(['Authorization', 'Bearer eyJhbGci']).authorization).toBe('Bearer eyJhbGci');
});

test('keeps repeated headers apart', () => {
  expect(inbound(['X-A', '1', 'x-a', '2'])['x-a']).toEqual(['1', '2']);
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
])('rewrites the redirect %s to %s', (location, expected) => {
  expect(outbound(['Location', location]).location).toBe(expected);
});

test('rewrites redirects without a port for servers on port 80 or 443', () => {
  expect(outbound(['Location', 'http://localhost/x'], 80).location).toBe(`https://${host}/x`);
  expect(outbound(['Location', 'https://localhost/x'], 443).location).toBe(`https://${host}/x`);
  expect(outbound(['Location', 'http://localhost/x'], 3000).location).toBe('http://localhost/x');
});

test('limits cookies to the preview that set them', () => {
  const cookies = ['a=1; Domain=localhost; Path=/', 'b=2; Secure; domain = .example.com', 'c=domain=3; Path=/'];
  const headers = outbound(cookies.flatMap((cookie) => ['Set-Cookie', cookie]));
  expect(headers['set-cookie']).toEqual(['a=1; Path=/', 'b=2; Secure', 'c=domain=3; Path=/']);
});

test('translates an allowed origin back to the one that the visitor sent', () => {
  const origin = { sent: 'https://other.localhost:8443', seen: 'http://localhost:8000' };
  const allow = (value: string) =>
    outbound(['Access-Control-Allow-Origin', value], 3000, origin)['access-control-allow-origin'];
  expect(allow(origin.seen)).toBe(origin.sent);
  expect(allow('*')).toBe('*');
  expect(allow('https://else.example')).toBe('https://else.example');
});

test('removes alternative services, which would bypass the gateway', () => {
  expect(outbound(['Alt-Svc', 'h2=":443"', 'Content-Type', 'text/plain'])).toEqual({ 'content-type': 'text/plain' });
});

test('rewrites the URL of a Refresh header, and a header full of spaces costs no more than it is long', () => {
  expect(outbound(['Refresh', '5; URL="http://localhost:3000/a"']).refresh).toBe(`5; URL="https://${host}/a"`);
  const startedMs = performance.now();
  for (const name of ['Location', 'Refresh']) {
    const value = `url=${' '.repeat(65_536)}x`;
    expect(outbound([name, value])[name.toLowerCase()]).toBe(value);
  }
  const tookMs = performance.now() - startedMs;
  console.log(`two headers with 65,536 spaces were rewritten in ${tookMs.toFixed(1)} ms`);
  // 65,536 squared would take many seconds.
  expect(tookMs).toBeLessThan(1_000);
});
