import type { AccountsContext } from './accounts-context.ts';
import { type AccountWithBalance, withBalance } from './balance.ts';

/** Every account with its balance, oldest first. */
export async function listAccounts(core: AccountsContext): Promise<readonly AccountWithBalance[]> {
  const accounts = await core.store.accounts.list();
  return await Promise.all(accounts.map((account) => withBalance(core, account)));
}
