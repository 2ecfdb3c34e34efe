import type { Core } from '../context.ts';
import { ApiError } from '../errors/api-error.ts';
import type { AccountRecord } from '../ports/store/account-store.ts';
import { liveBalanceMicroUsd } from './balance.ts';

/** What is left of the account's credit now. */
export async function balanceMicroUsd(core: Core, account: AccountRecord): Promise<number> {
  return liveBalanceMicroUsd(await core.store.ledger.funds(account.id), core.clock.nowMs());
}

/** Refuses with 402 once the balance has reached zero. */
export async function requireCredit(core: Core, account: AccountRecord): Promise<void> {
  if ((await balanceMicroUsd(core, account)) > 0) return;
  throw new ApiError('insufficient_credits', 'the balance has reached zero; add credit to run commands');
}
