import { expect, test } from 'vitest';
import { expiredBefore, expiryOf, hasExpired, isTouchDue, maySetPassword, touchAfterMs } from './session-life.ts';

const dayMs = 24 * 60 * 60 * 1_000;
const createdAtMs = 1_790_000_000_000;
const used = (afterMs: number) => ({ createdAtMs, lastUsedAtMs: createdAtMs + afterMs });

test('a session ends seven days after its last use, and thirty days after its sign-in however often it is used', () => {
  expect(expiryOf(used(0))).toBe(createdAtMs + 7 * dayMs);
  expect(expiryOf(used(6 * dayMs))).toBe(createdAtMs + 13 * dayMs);
  expect(expiryOf(used(29 * dayMs))).toBe(createdAtMs + 30 * dayMs);
});

test('every session that retention removes has expired, and is not removed before', () => {
  for (const usedDays of [0, 1, 6, 22, 23, 24, 29]) {
    const session = used(usedDays * dayMs);
    for (const atMs of [expiryOf(session) - 1, expiryOf(session), expiryOf(session) + 1]) {
      const { usedMs, createdMs } = expiredBefore(atMs);
      const isRemoved = session.lastUsedAtMs < usedMs || session.createdAtMs < createdMs;
      expect(hasExpired(session, atMs)).toBe(atMs >= expiryOf(session));
      expect(isRemoved).toBe(atMs > expiryOf(session));
    }
  }
});

test('a use is recorded at most every five minutes', () => {
  expect(isTouchDue(used(0), createdAtMs + touchAfterMs - 1)).toBe(false);
  expect(isTouchDue(used(0), createdAtMs + touchAfterMs)).toBe(true);
});

test('a password is set without the current one if there is none, or for a while after a sign-in with a link', () => {
  const until = { maySetPasswordUntilMs: 1_000 };
  const never = { maySetPasswordUntilMs: null };
  expect(maySetPassword(never, false, 5)).toBe(true);
  expect(maySetPassword(never, true, 5)).toBe(false);
  expect(maySetPassword(until, true, 999)).toBe(true);
  expect(maySetPassword(until, true, 1_000)).toBe(false);
});
