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

/** The lengths that an API key can have: those of MAYFLY_BOOTSTRAP_API_KEY in this and earlier versions. Others are not worth a lookup. */
const keyCharacters = { least: 8, most: 256 };

/** How many parts a header may have to be forwarded: in all, and of those that may be keys, which are few enough to look all of them up. Usual credentials have fewer. */
export const maxCredentialParts = { inAll: 128, lookedUp: 32 };

/**
 * Whether an Authorization header holds an API key of this service, revoked or not, whatever its scheme: anywhere between separators or quotes, or as user or password of Basic
 * credentials. A key that looks like one of ours counts even if it is unknown: it may be mistyped, or of another Mayfly. So does a header with too many parts to look up. Other
 * parts cost a hash and an indexed lookup each, which tells nothing about keys by its duration.
 */
export async function holdsApiKey(core: FindKeyNeeds, authorization: string): Promise<boolean> {
  const { least, most } = keyCharacters;
  const words = authorization.split(/[\s,;:="']+/, maxCredentialParts.inAll + 1);
  if (words.length > maxCredentialParts.inAll) return true;
  const parts = [...new Set([...words, ...joinedParts(authorization.trim())])];
  if (parts.some((part) => part.startsWith('mf_'))) return true;
  const possible = parts.filter(({ length }) => length >= least && length <= most);
  if (possible.length > maxCredentialParts.lookedUp) return true;
  for (const part of possible) {
    if ((await core.store.accounts.findByKeyHash(hashApiKey(part))) !== undefined) return true;
  }
  return false;
}

/** Parts of an Authorization header that may contain separators, as a key that the operator chose may, and those that are encoded. */
function joinedParts(value: string): readonly string[] {
  const afterScheme = value.replace(/^\S+\s+/, '');
  const quotes = /"([^\s,;:="'][^"]*)"|'([^\s,;:="'][^']*)'/g;
  const quoted = Array.from(value.matchAll(quotes), ([, double, single]) => double ?? single ?? '');
  const basic = Array.from(value.matchAll(/\bbasic\s+["']?([\w+/-]+)/gi), ([, encoded = '']) =>
    userAndPassword(encoded),
  );
  return [value, afterScheme, ...quoted, ...basic.flat()];
}

/** User and password of Basic credentials, for whichever colon is the one between them. */
function userAndPassword(encoded: string): readonly string[] {
  const decoded = Buffer.from(encoded, 'base64').toString('latin1');
  const [first, last] = [decoded.indexOf(':'), decoded.lastIndexOf(':')];
  if (first === -1) return [decoded];
  return [decoded.slice(0, first), decoded.slice(first + 1), decoded.slice(0, last), decoded.slice(last + 1)];
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
