import { ApiError, accountSuspended } from '../errors/api-error.ts';
import type { AccountStore, KeyOwner } from '../ports/store/account-store.ts';
import { hashApiKey } from './api-keys.ts';

/** What looking up an API key needs. */
export interface FindKeyNeeds {
  readonly store: { readonly accounts: AccountStore };
}

const bearer = /^bearer +(\S+) *$/i;

/** The hash of the key in an Authorization header; 401 if there is none. */
export function keyHashIn(authorization: string | undefined): string {
  const key = bearer.exec(authorization ?? '')?.[1];
  if (key !== undefined) return hashApiKey(key);
  throw new ApiError('unauthorized', 'Missing API key. Send the header "Authorization: Bearer <API_KEY>".');
}

/** The lengths that an API key can have: see MAYFLY_BOOTSTRAP_API_KEY. Others are not worth a lookup. */
const keyCharacters = { least: 32, most: 256 };

/**
 * Whether an Authorization header holds an API key of this service, revoked or not. A key that looks like one of ours counts even if it is
 * unknown: it may be mistyped, or of another Mayfly. Other tokens cost a hash and an indexed lookup, which tells nothing about keys by its duration.
 */
export async function holdsApiKey(core: FindKeyNeeds, authorization: string): Promise<boolean> {
  const [, token = ''] = /^\s*(?:bearer\s+)?(\S+)\s*$/i.exec(authorization) ?? [];
  if (token.startsWith('mf_')) return true;
  if (token.length < keyCharacters.least || token.length > keyCharacters.most) return false;
  return (await core.store.accounts.findByKeyHash(hashApiKey(token))) !== undefined;
}

/** Whose key this is; 401 if it is unknown. The key may be revoked: see `requireUsable`. */
export async function findKeyOwner(core: FindKeyNeeds, keyHash: string): Promise<KeyOwner> {
  const owner = await core.store.accounts.findByKeyHash(keyHash);
  if (owner === undefined) throw new ApiError('invalid_api_key', 'Unknown API key.');
  return owner;
}

/** 401 if the key is revoked, 403 if the account is suspended. */
export function requireUsable({ account, revokedAtMs }: KeyOwner): void {
  if (revokedAtMs !== null) throw new ApiError('invalid_api_key', 'This API key has been revoked.');
  if (account.suspended) throw accountSuspended();
}
