import type { AccountRecord } from '../ports/store/account-store.ts';
import type { AccountsContext } from './accounts-context.ts';
import { AccountRefusal } from './refusal.ts';

/** The account with this e-mail address (letter case ignored), or a refusal. */
export async function requireAccount(core: AccountsContext, email: string): Promise<AccountRecord> {
  const account = await core.store.accounts.findByEmail(email);
  if (account !== undefined) return account;
  throw new AccountRefusal('unknown_account', `there is no account ${email}; list them, or create it first`);
}
