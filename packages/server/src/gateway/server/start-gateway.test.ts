import { expect, test } from 'vitest';
import { trustedProxies } from './start-gateway.ts';

test('trusts all proxies, none, or a list of addresses and ranges', () => {
  expect(trustedProxies(true)('203.0.113.1')).toBe(true);
  expect(trustedProxies(false)('127.0.0.1')).toBe(false);
  const listed = trustedProxies('127.0.0.1, 10.0.0.0/8,fd00::/8');
  expect(['127.0.0.1', '::ffff:127.0.0.1', '10.9.8.7', 'fd12::1'].map(listed)).toEqual([true, true, true, true]);
  expect(['127.0.0.2', '11.0.0.1', 'fe80::1', 'nonsense', ''].map(listed)).toEqual([false, false, false, false, false]);
});
