import type { Core } from '../context.ts';
import { ApiError } from '../errors/api-error.ts';
import type { AccountRecord } from '../ports/store/account-store.ts';
import { hashApiKey } from './api-key.ts';

const bearer = /^bearer +(\S+) *$/i;

/** The hash of the key in an Authorization header; 401 if there is none. */
export function keyHashIn(authorization: string | undefined): string {
  const key = bearer.exec(authorization ?? '')?.[1];
  if (key !== undefined) return hashApiKey(key);
  throw new ApiError('unauthorized', 'send your API key in the header "Authorization: Bearer <API_KEY>"');
}

/** The account behind a key; 401 or 403 otherwise. */
export async function authenticate(core: Core, keyHash: string): Promise<AccountRecord> {
  const owner = await core.store.accounts.findByKeyHash(keyHash);
  if (owner === undefined) throw new ApiError('invalid_api_key', 'there is no such API key');
  if (owner.revokedAtMs !== null) throw new ApiError('invalid_api_key', 'this API key was revoked');
  if (owner.account.suspended) throw new ApiError('account_suspended', 'this account is suspended');
  return owner.account;
}
