import { dashboardLimits } from '@mayfly/contract/dashboard';
import type { SessionRecord } from '../ports/store/sign-in-store.ts';

const dayMs = 86_400_000;
const idleMs = dashboardLimits.sessionIdleDays * dayMs;
const maxMs = dashboardLimits.sessionMaxDays * dayMs;

/** A use is recorded if the last recorded one is older than this, so that a busy session costs few writes. */
export const touchAfterMs = 5 * 60_000;

type Times = Pick<SessionRecord, 'createdAtMs' | 'lastUsedAtMs'>;

/** When a session ends if it is not used before. */
export function expiryOf({ createdAtMs, lastUsedAtMs }: Times): number {
  return Math.min(lastUsedAtMs + idleMs, createdAtMs + maxMs);
}

export function hasExpired(session: Times, nowMs: number): boolean {
  return nowMs >= expiryOf(session);
}

/** Whether a use now should be recorded. */
export function isTouchDue({ lastUsedAtMs }: Times, nowMs: number): boolean {
  return nowMs - lastUsedAtMs >= touchAfterMs;
}

/** Sessions that were last used before the one time or created before the other have expired. */
export function expiredBefore(nowMs: number): { readonly usedMs: number; readonly createdMs: number } {
  return { usedMs: nowMs - idleMs, createdMs: nowMs - maxMs };
}

/** Whether a new password needs the current one. It does not for accounts without one, nor for a while after a sign-in with a link. */
export function maySetPassword(
  { maySetPasswordUntilMs }: Pick<SessionRecord, 'maySetPasswordUntilMs'>,
  hasPassword: boolean,
  nowMs: number,
): boolean {
  return !hasPassword || (maySetPasswordUntilMs !== null && nowMs < maySetPasswordUntilMs);
}
