import type { FastifyRequest } from 'fastify';
import { expect, test } from 'vitest';
import { type OwnAddress, requireOwnOrigin } from './own-origin.ts';

interface Case {
  readonly headers: Readonly<Record<string, string>>;
  readonly isTls?: boolean;
  readonly publicUrl?: string;
}

function isAccepted({ headers, isTls = false, publicUrl = 'http://127.0.0.1:8080' }: Case, changes: boolean): boolean {
  const request = { headers: { host: '127.0.0.1:8080', ...headers } } as unknown as FastifyRequest;
  const address: OwnAddress = { isTls, publicUrl: () => publicUrl };
  try {
    requireOwnOrigin(request, address, { changes });
    return true;
  } catch {
    return false;
  }
}

const https = 'https://mayfly.example.com';

test.each<[string, Case]>([
  ['its own page', { headers: { origin: 'http://127.0.0.1:8080', 'sec-fetch-site': 'same-origin' } }],
  ['its own page in an old browser', { headers: { origin: 'http://127.0.0.1:8080' } }],
  ['another name of the host', { headers: { host: 'localhost:8080', origin: 'http://localhost:8080' } }],
  [
    'the public URL, with TLS',
    { headers: { host: 'mayfly.example.com', origin: https }, isTls: true, publicUrl: https },
  ],
  ['the public URL, with TLS at a proxy', { headers: { host: 'mayfly.example.com', origin: https }, publicUrl: https }],
  ['a proxy that changes Host', { headers: { host: '10.0.0.7:8080', origin: https }, publicUrl: https }],
  ['a public URL with a path', { headers: { origin: https }, publicUrl: `${https}/mayfly` }],
])('a request from %s may change something', (_, given) => {
  expect(isAccepted(given, true)).toBe(true);
  expect(isAccepted(given, false)).toBe(true);
});

test.each<[string, Case]>([
  ['another site', { headers: { origin: 'https://evil.example' } }],
  ['another port', { headers: { origin: 'http://127.0.0.1:8443' } }],
  ['another scheme', { headers: { origin: 'https://127.0.0.1:8080' } }],
  ['no origin that it names', { headers: { origin: 'null' } }],
  ['a name that only begins like it', { headers: { origin: 'http://127.0.0.1:8080.evil.example' } }],
  ['a preview', { headers: { origin: 'https://token.localhost:8443', 'sec-fetch-site': 'same-site' } }],
  [
    'a page of another site, as the browser says',
    { headers: { origin: 'http://127.0.0.1:8080', 'sec-fetch-site': 'cross-site' } },
  ],
  [
    'the same name without TLS',
    { headers: { host: 'mayfly.example.com', origin: 'http://mayfly.example.com' }, publicUrl: https },
  ],
  ['an empty origin and Host', { headers: { host: '', origin: '' } }],
])('a request from %s is refused', (_, given) => {
  expect(isAccepted(given, true)).toBe(false);
  expect(isAccepted(given, false)).toBe(false);
});

test('without any origin, or typed by a person, a request may read and change nothing', () => {
  for (const headers of [{}, { 'sec-fetch-site': 'none' }]) {
    expect(isAccepted({ headers }, false)).toBe(true);
    expect(isAccepted({ headers }, true)).toBe(false);
  }
  const sameOrigin = { headers: { 'sec-fetch-site': 'same-origin' } };
  expect([isAccepted(sameOrigin, false), isAccepted(sameOrigin, true)]).toEqual([true, false]);
});
