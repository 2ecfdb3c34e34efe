import { randomUUID } from 'node:crypto';
import { hashApiKey } from '#server/core/accounts/api-key.ts';
import { createAccount } from '#server/core/accounts/create-account.ts';
import { createKey, revokeKey } from '#server/core/accounts/keys.ts';
import { setSuspended } from '#server/core/accounts/suspend-account.ts';
import type { Core } from '#server/core/context.ts';

/** An account to be made for a test. */
export interface AccountSpec {
  /** What it starts with, in millionths of a dollar; 100 USD unless told. */
  readonly creditMicroUsd?: number;
  readonly suspended?: boolean;
  readonly revoked?: boolean;
  readonly broke?: boolean;
  /** Not an account but one more key of the account with this key. */
  readonly siblingOf?: string;
}

/** Makes the account as an operator does and gives its key. */
export const addAccount = async (core: Core, spec: AccountSpec): Promise<string> => {
  if (spec.siblingOf !== undefined) {
    const owner = await core.store.accounts.findByKeyHash(hashApiKey(spec.siblingOf));
    return (await createKey(core, owner?.account.email ?? '')).apiKey;
  }
  const email = `${randomUUID()}@localhost`;
  const creditMicroUsd = spec.broke ? 0 : (spec.creditMicroUsd ?? 100_000_000);
  const { apiKey, keyId } = await createAccount(core, { email, creditMicroUsd });
  if (spec.suspended) await setSuspended(core, email, true);
  if (spec.revoked) await revokeKey(core, email, keyId);
  return apiKey;
};
