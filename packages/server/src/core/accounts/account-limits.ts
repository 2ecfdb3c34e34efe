import { type AccountLimits, accountLimitNames, type Limits } from '@mayfly/contract';
import type { Log } from '../ports/runtime.ts';
import type { AccountRecord } from '../ports/store/account-store.ts';
import { AccountError, type FindAccountNeeds, findAccount } from './find-account.ts';

/** What reading and setting the limits of an account needs. */
export interface AccountLimitsNeeds extends FindAccountNeeds {
  readonly limits: Limits;
  readonly log: Log;
}

/** New limits of an account. Null resets a limit to the service's; a limit that is left out stays as it is. */
export type LimitChanges = { readonly [Name in keyof AccountLimits]?: number | null | undefined };

/** An account and the limits that apply to it. `account.limits` holds only those set for this account. */
export interface LimitsInForce {
  readonly account: AccountRecord;
  readonly limits: AccountLimits;
}

/** The limits that apply to an account: the service's, overridden by the account's own. The service's maximum lifetime always applies. */
export function limitsOf(limits: Limits, account: Pick<AccountRecord, 'limits'>): Limits {
  const own = { ...limits, ...account.limits };
  return { ...own, maxTimeoutMinutes: Math.min(own.maxTimeoutMinutes, limits.maxTimeoutMinutes) };
}

export async function getLimits(core: AccountLimitsNeeds, email: string): Promise<LimitsInForce> {
  const account = await findAccount(core, email);
  return { account, limits: limitsOf(core.limits, account) };
}

/** Sets limits of an account. They apply from its next request on. */
export async function setLimits(
  core: AccountLimitsNeeds,
  email: string,
  changes: LimitChanges,
): Promise<LimitsInForce> {
  const { id } = await findAccount(core, email);
  const serviceMax = core.limits.maxTimeoutMinutes;
  if ((changes.maxTimeoutMinutes ?? 0) > serviceMax) {
    throw new AccountError(
      'invalid_request',
      `max_timeout_minutes must be at most ${serviceMax}, the maximum of this service.`,
    );
  }
  const given = Object.fromEntries(
    accountLimitNames.flatMap((name) => (changes[name] === undefined ? [] : [[name, changes[name]]])),
  );
  await core.store.accounts.setLimits(id, given);
  core.log.info({ account_id: id, limits: given }, 'account_limits_set');
  return await getLimits(core, email);
}
