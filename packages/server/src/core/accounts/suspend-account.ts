import type { AccountsContext } from './accounts-context.ts';
import type { AccountWithBalance } from './balance.ts';
import { getAccount } from './get-account.ts';
import { requireAccount } from './require-account.ts';

/** Refuses, or serves again, all requests of an account from now on. Its sandboxes are left as they are. */
export async function setSuspended(
  core: AccountsContext,
  email: string,
  suspended: boolean,
): Promise<AccountWithBalance> {
  const { id } = await requireAccount(core, email);
  await core.store.accounts.setSuspended(id, suspended);
  core.log.info({ account_id: id }, suspended ? 'account_suspended' : 'account_resumed');
  return await getAccount(core, email);
}
