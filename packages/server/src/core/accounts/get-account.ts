import type { AccountsContext } from './accounts-context.ts';
import { type AccountWithBalance, withBalance } from './balance.ts';
import { requireAccount } from './require-account.ts';

/** One account with its balance. */
export async function getAccount(core: AccountsContext, email: string): Promise<AccountWithBalance> {
  return await withBalance(core, await requireAccount(core, email));
}
