import { liveBalanceMicroUsd } from '../money/balance.ts';
import type { AccountRecord } from '../ports/store/account-store.ts';
import type { AccountsContext } from './accounts-context.ts';

/** An account and what is left of its credit now. */
export interface AccountWithBalance {
  readonly account: AccountRecord;
  readonly balanceMicroUsd: number;
}

/** Adds to an account what is left of its credit now. */
export async function withBalance(core: AccountsContext, account: AccountRecord): Promise<AccountWithBalance> {
  const funds = await core.store.ledger.funds(account.id);
  return { account, balanceMicroUsd: liveBalanceMicroUsd(funds, core.clock.nowMs()) };
}
