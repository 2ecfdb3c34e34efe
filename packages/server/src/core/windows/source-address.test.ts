import { describe, expect, test } from 'vitest';
import { forwardingChain, trustedProxies } from './source-address.ts';

const sourceOf = (setting: boolean | string, peer: string, forwardedFor?: string) =>
  forwardingChain(peer, forwardedFor, trustedProxies(setting)).at(-1);

test('without a trusted proxy the header is ignored', () => {
  expect(sourceOf(false, '203.0.113.9', '198.51.100.1')).toBe('203.0.113.9');
  expect(sourceOf('10.0.0.1', '203.0.113.9', '198.51.100.1')).toBe('203.0.113.9');
});

describe('true trusts the peer, and nobody behind it', () => {
  test('the address that the proxy added counts, not those that the client wrote', () => {
    expect(sourceOf(true, '127.0.0.1', '1.1.1.1, 2.2.2.2, 198.51.100.1')).toBe('198.51.100.1');
    expect(sourceOf(true, '::ffff:127.0.0.1', '198.51.100.1')).toBe('198.51.100.1');
    expect(sourceOf(true, '127.0.0.1')).toBe('127.0.0.1');
  });
});

describe('a list', () => {
  test('the nearest hop that is not trusted counts', () => {
    const setting = '127.0.0.1, 10.0.0.0/8,2001:db8::/32';
    expect(sourceOf(setting, '127.0.0.1', '1.1.1.1, 198.51.100.1, 10.1.2.3')).toBe('198.51.100.1');
    expect(sourceOf(setting, '2001:db8::7', '2001:db9::1')).toBe('2001:db9::1');
    expect(sourceOf(setting, '127.0.0.1', '10.0.0.1, 10.0.0.2')).toBe('10.0.0.1');
  });
});

test.each([
  ['unknown', '127.0.0.1'],
  ['', '127.0.0.1'],
  [', ,', '127.0.0.1'],
  ['1.1.1.1, x', '127.0.0.1'],
  ['198.51.100.1.5', '127.0.0.1'],
  ['198.51.100.1:4711', '198.51.100.1'],
  ['[2001:db8::1]:4711', '2001:db8::1'],
  ['2001:db8::1', '2001:db8::1'],
  ['::ffff:198.51.100.1', '198.51.100.1'],
  ['fe80::1%eth0"', '127.0.0.1'],
])('of %j only a valid address counts: %s', (header, source) => {
  expect(sourceOf(true, '127.0.0.1', header)).toBe(source);
});

test('the whole chain is kept from the source on', () => {
  const chain = forwardingChain('10.0.0.1', '6.6.6.6, 198.51.100.1, 10.0.0.2', trustedProxies('10.0.0.0/8'));
  expect(chain).toEqual(['10.0.0.1', '10.0.0.2', '198.51.100.1']);
});
