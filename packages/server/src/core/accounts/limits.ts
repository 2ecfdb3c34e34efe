import { type AccountLimits, accountLimitNames } from '@mayfly/contract';
import { limitsOf } from '../admission/account-limits.ts';
import type { AccountRecord } from '../ports/store/account-store.ts';
import type { AccountsContext } from './accounts-context.ts';
import { AccountRefusal } from './refusal.ts';
import { requireAccount } from './require-account.ts';

/** New limits of an account; null takes one back to the service's, what is left out stays. */
export type LimitChanges = { readonly [Name in keyof AccountLimits]?: number | null | undefined };

/** What holds for an account, and what of it was set for this account alone. */
export interface LimitsInForce {
  readonly account: AccountRecord;
  readonly limits: AccountLimits;
}

/** The limits that hold for an account. */
export async function getLimits(core: AccountsContext, email: string): Promise<LimitsInForce> {
  const account = await requireAccount(core, email);
  return { account, limits: limitsOf(core.limits, account) };
}

/** Sets limits of an account; they hold from its next request on. */
export async function setLimits(core: AccountsContext, email: string, changes: LimitChanges): Promise<LimitsInForce> {
  const { id } = await requireAccount(core, email);
  const serviceMax = core.limits.maxTimeoutMinutes;
  if ((changes.maxTimeoutMinutes ?? 0) > serviceMax) {
    const rule = `max_timeout_minutes must be at most ${serviceMax}, which is what this service allows`;
    throw new AccountRefusal('invalid_request', rule);
  }
  const given = Object.fromEntries(
    accountLimitNames.flatMap((name) => (changes[name] === undefined ? [] : [[name, changes[name]]])),
  );
  await core.store.accounts.setLimits(id, given);
  core.log.info({ account_id: id, limits: given }, 'account_limits_set');
  return await getLimits(core, email);
}
