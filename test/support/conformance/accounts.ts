import { randomUUID } from 'node:crypto';
import type { Core } from '#server/app/assemble-core.ts';
import { createKey, hashApiKey, revokeKey } from '#server/core/accounts/api-keys.ts';
import { createAccount, setSuspended } from '#server/core/accounts/manage-accounts.ts';

/** An account to create for a test. */
export interface AccountSpec {
  /** The initial credit in millionths of a dollar. Default: 100 USD. */
  readonly creditMicroUsd?: number;
  readonly suspended?: boolean;
  readonly revoked?: boolean;
  /** No credit at all. */
  readonly broke?: boolean;
  /** Creates another key for the account that has this key, instead of an account. */
  readonly siblingOf?: string;
}

/** Creates the account as an operator would and returns its key. */
export async function addAccount(core: Core, spec: AccountSpec): Promise<string> {
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
}
