import { expect, test } from 'vitest';
import {
  hashRecoveryCode,
  isTotpCode,
  newRecoveryCodes,
  newTotpSecret,
  periodOfCode,
  totpUri,
} from './one-time-codes.ts';

/** The test vectors of RFC 6238 for SHA-1, whose secret is "12345678901234567890", with six digits. */
const rfcSecret = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ';

test.each([
  [59, '287082'],
  [1_111_111_109, '081804'],
  [1_111_111_111, '050471'],
  [1_234_567_890, '005924'],
  [2_000_000_000, '279037'],
])('at %i s the code is %s', (seconds, code) => {
  const period = Math.floor(seconds / 30);
  const at = (offsetSeconds: number) => periodOfCode(rfcSecret, code, (seconds + offsetSeconds) * 1_000);
  expect([at(-60), at(-30), at(0), at(30), at(60)]).toEqual([undefined, period, period, period, undefined]);
});

test('no other text is a code', () => {
  for (const code of ['287083', '28708', '2870820', '', 'abcdef']) {
    expect(periodOfCode(rfcSecret, code, 59_000)).toBeUndefined();
  }
});

test('a secret is new each time, and its URI names the service and the account', () => {
  const secret = newTotpSecret();
  expect(secret).toMatch(/^[2-7A-Z]{32}$/);
  expect(newTotpSecret()).not.toBe(secret);
  const uri = new URL(totpUri(secret, 'zoë+"<x>@localhost'));
  expect(uri.protocol).toBe('otpauth:');
  expect(decodeURIComponent(uri.pathname)).toContain('Mayfly:zoë+"<x>@localhost');
  expect(uri.searchParams.get('secret')).toBe(secret);
});

test('recovery codes differ, are told from codes of an app, and are the same however they are typed', () => {
  const codes = newRecoveryCodes();
  expect(new Set(codes).size).toBe(10);
  for (const code of codes) {
    expect(code).toMatch(/^[a-z2-9]{4}(-[a-z2-9]{4}){3}$/);
    expect(isTotpCode(code)).toBe(false);
    expect(hashRecoveryCode(` ${code.toUpperCase().replaceAll('-', ' ')}`)).toBe(hashRecoveryCode(code));
  }
  expect(isTotpCode('123 456')).toBe(true);
});
