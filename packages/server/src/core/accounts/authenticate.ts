import type { Core } from '../context.ts';
import { ApiError } from '../errors/api-error.ts';
import type { AccountRecord } from '../ports/store/account-store.ts';
import { hashApiKey } from './api-keys.ts';

const bearer = /^bearer +(\S+) *$/i;

/** The hash of the key in an Authorization header; 401 if there is none. */
export function keyHashIn(authorization: string | undefined): string {
  const key = bearer.exec(authorization ?? '')?.[1];
  if (key !== undefined) return hashApiKey(key);
  throw new ApiError('unauthorized', 'Missing API key. Send the header "Authorization: Bearer <API_KEY>".');
}

/** The account that a key belongs to; 401 if the key is unknown or revoked, 403 if the account is suspended. */
export async function authenticate(core: Pick<Core, 'store'>, keyHash: string): Promise<AccountRecord> {
  const owner = await core.store.accounts.findByKeyHash(keyHash);
  if (owner === undefined) throw new ApiError('invalid_api_key', 'Unknown API key.');
  if (owner.revokedAtMs !== null) throw new ApiError('invalid_api_key', 'This API key has been revoked.');
  if (owner.account.suspended) {
    throw new ApiError('account_suspended', 'This account is suspended. Contact the operator.');
  }
  return owner.account;
}
