import type { Core } from '../context.ts';
import { ApiError, accountSuspended } from '../errors/api-error.ts';
import type { KeyOwner } from '../ports/store/account-store.ts';
import { hashApiKey } from './api-keys.ts';

const bearer = /^bearer +(\S+) *$/i;

/** The hash of the key in an Authorization header; 401 if there is none. */
export function keyHashIn(authorization: string | undefined): string {
  const key = bearer.exec(authorization ?? '')?.[1];
  if (key !== undefined) return hashApiKey(key);
  throw new ApiError('unauthorized', 'Missing API key. Send the header "Authorization: Bearer <API_KEY>".');
}

/** Whose key this is; 401 if it is unknown. The key may be revoked: see `requireUsable`. */
export async function findKeyOwner(core: Pick<Core, 'store'>, keyHash: string): Promise<KeyOwner> {
  const owner = await core.store.accounts.findByKeyHash(keyHash);
  if (owner === undefined) throw new ApiError('invalid_api_key', 'Unknown API key.');
  return owner;
}

/** 401 if the key is revoked, 403 if the account is suspended. */
export function requireUsable({ account, revokedAtMs }: KeyOwner): void {
  if (revokedAtMs !== null) throw new ApiError('invalid_api_key', 'This API key has been revoked.');
  if (account.suspended) throw accountSuspended();
}
