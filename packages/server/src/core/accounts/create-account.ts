import type { AccountsContext } from './accounts-context.ts';
import type { AccountWithBalance } from './balance.ts';
import { getAccount } from './get-account.ts';
import { mintKey } from './mint-key.ts';
import { AccountRefusal } from './refusal.ts';

export interface CreatedAccount extends AccountWithBalance {
  readonly keyId: string;
  /** To be shown once; it is not kept. */
  readonly apiKey: string;
}

/** Makes an account with its first key. */
export async function createAccount(
  core: AccountsContext,
  { email, creditMicroUsd }: { readonly email: string; readonly creditMicroUsd: number },
): Promise<CreatedAccount> {
  const { apiKey, key } = mintKey(core);
  const id = core.ids.next('acct');
  const createdAtMs = core.clock.nowMs();
  const created = await core.store.accounts.create({
    id,
    email,
    openingCreditMicroUsd: creditMicroUsd,
    createdAtMs,
    key,
  });
  if (!created) {
    throw new AccountRefusal('email_taken', `there is an account ${email} already; create another key for it instead`);
  }
  core.log.info({ account_id: id, key_id: key.id, credit_micro_usd: creditMicroUsd }, 'account_created');
  return { ...(await getAccount(core, email)), keyId: key.id, apiKey };
}
