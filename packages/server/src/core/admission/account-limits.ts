import type { Limits } from '@mayfly/contract';
import type { AccountRecord } from '../ports/store/account-store.ts';

/** The limits that hold for an account: the service's, with what an operator set for this account. No lifetime is longer than the service's. */
export function limitsOf(limits: Limits, account: Pick<AccountRecord, 'limits'>): Limits {
  const own = { ...limits, ...account.limits };
  return { ...own, maxTimeoutMinutes: Math.min(own.maxTimeoutMinutes, limits.maxTimeoutMinutes) };
}
