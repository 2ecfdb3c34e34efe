import type { AdminErrorType } from '@mayfly/contract/admin';
import type { AccountRecord, AccountStore } from '../ports/store/account-store.ts';

/** What looking up an account needs. */
export interface FindAccountNeeds {
  readonly store: { readonly accounts: AccountStore };
}

/** An operator's request that cannot be carried out. The message says why and what to do. */
export class AccountError extends Error {
  readonly type: AdminErrorType;

  constructor(type: AdminErrorType, message: string) {
    super(message);
    this.name = 'AccountError';
    this.type = type;
  }
}

/** The account with this e-mail address, ignoring case. Throws an AccountError if there is none. */
export async function findAccount(core: FindAccountNeeds, email: string): Promise<AccountRecord> {
  const account = await core.store.accounts.findByEmail(email);
  if (account !== undefined) return account;
  throw new AccountError('unknown_account', `There is no account ${email}. List the accounts, or create it first.`);
}
