import { hash, randomBytes } from 'node:crypto';
import type { Limits } from '@mayfly/contract';
import { ApiError, notFound } from '../errors/api-error.ts';
import type { Clock, Ids, Log } from '../ports/runtime.ts';
import type { AccountRecord, AccountStore, ApiKeyRecord, NewApiKey } from '../ports/store/account-store.ts';
import { limitsOf } from './account-limits.ts';
import { AccountError, type FindAccountNeeds, findAccount } from './find-account.ts';

/** What a new API key needs. */
export interface MintKeyNeeds {
  readonly ids: Ids;
}

/** What listing, creating and revoking the keys of an account needs. */
export interface ManageKeysNeeds extends FindAccountNeeds, MintKeyNeeds {
  readonly limits: Limits;
  readonly clock: Clock;
  readonly log: Log;
}

/** A key and the account it belongs to. */
export interface OwnedKey {
  readonly account: AccountRecord;
  readonly key: ApiKeyRecord;
}

export interface CreatedKey extends OwnedKey {
  /** Shown once; only its hash is stored. */
  readonly apiKey: string;
}

/** A new API key: `mf_` and 43 characters of base64url (256 random bits). */
function newApiKey(): string {
  return `mf_${randomBytes(32).toString('base64url')}`;
}

/** What is stored of a key and looked up: its SHA-256 in lower-case hex. */
export function hashApiKey(key: string): string {
  return hash('sha256', key, 'hex');
}

/** The part of a key that may be displayed to recognise it. */
function prefixOfApiKey(key: string): string {
  return key.slice(0, Math.min(7, Math.floor(key.length / 4)));
}

/** A new key: what to show once, and what to store. */
export function mintKey(
  core: MintKeyNeeds,
  { apiKey = newApiKey(), name }: { readonly apiKey?: string | undefined; readonly name?: string | undefined } = {},
): {
  readonly apiKey: string;
  readonly key: NewApiKey;
} {
  const key = { id: core.ids.next('key'), hash: hashApiKey(apiKey), prefix: prefixOfApiKey(apiKey), name };
  return { apiKey, key };
}

/** A key that has just been stored. */
function storedKey({ id, prefix, name }: NewApiKey, createdAtMs: number): ApiKeyRecord {
  return { id, prefix, name: name ?? null, createdAtMs, lastUsedAtMs: null, revokedAtMs: null };
}

/** Every key of an account, oldest first, including revoked ones. */
export async function listKeys(core: ManageKeysNeeds, email: string): Promise<readonly OwnedKey[]> {
  const account = await findAccount(core, email);
  const keys = await core.store.accounts.listKeys(account.id);
  return keys.map((key) => ({ account, key }));
}

/** Creates a key, unless the account has reached its limit of active keys. */
export async function createKey(core: ManageKeysNeeds, email: string, name?: string): Promise<CreatedKey> {
  const account = await findAccount(core, email);
  const { apiKeys } = limitsOf(core.limits, account);
  const { apiKey, key } = mintKey(core, { name });
  const createdAtMs = core.clock.nowMs();
  if (!(await core.store.accounts.addKey(account.id, key, createdAtMs, apiKeys))) {
    throw new AccountError(
      'too_many_keys',
      `${account.email} has reached its limit of ${apiKeys} active keys. Revoke one, or raise its limit api_keys.`,
    );
  }
  core.log.info({ account_id: account.id, key_id: key.id }, 'key_created');
  return { account, apiKey, key: storedKey(key, createdAtMs) };
}

/** What an account's own management of its keys needs. */
export interface OwnKeysNeeds extends MintKeyNeeds {
  readonly store: { readonly accounts: AccountStore };
  readonly limits: Limits;
  readonly clock: Clock;
  readonly log: Log;
}

/** Revoked keys that are listed. Those that were created last are the ones that somebody looks for. */
const listedRevokedKeys = 100;

/** The active keys of an account and the newest of the revoked ones, newest first, and how many active ones it may have. */
export async function listOwnKeys(
  core: OwnKeysNeeds,
  account: AccountRecord,
): Promise<{ readonly keys: readonly ApiKeyRecord[]; readonly limit: number }> {
  const keys = (await core.store.accounts.listKeys(account.id)).toReversed();
  const revoked = new Set(keys.filter(({ revokedAtMs }) => revokedAtMs !== null).slice(0, listedRevokedKeys));
  const listed = keys.filter((key) => key.revokedAtMs === null || revoked.has(key));
  return { keys: listed, limit: limitsOf(core.limits, account).apiKeys };
}

/** Creates a key for an account. Throws a 429 if it has reached its limit of active keys. */
export async function createOwnKey(core: OwnKeysNeeds, account: AccountRecord, name: string): Promise<CreatedKey> {
  const { apiKeys } = limitsOf(core.limits, account);
  const { apiKey, key } = mintKey(core, { name });
  const createdAtMs = core.clock.nowMs();
  if (!(await core.store.accounts.addKey(account.id, key, createdAtMs, apiKeys))) {
    const message = `This account is limited to ${apiKeys} active API keys. Revoke one first.`;
    throw new ApiError('quota_exceeded', message);
  }
  core.log.info({ account_id: account.id, key_id: key.id }, 'key_created');
  return { account, apiKey, key: storedKey(key, createdAtMs) };
}

/** Revokes a key of an account. Returns when it was revoked, which may have been before. Throws a 404 if the account has no such key. */
export async function revokeOwnKey(core: OwnKeysNeeds, account: AccountRecord, id: string): Promise<number> {
  const nowMs = core.clock.nowMs();
  if (await core.store.accounts.revokeKey(account.id, id, nowMs)) {
    core.log.info({ account_id: account.id, key_id: id }, 'key_revoked');
    return nowMs;
  }
  const key = (await core.store.accounts.listKeys(account.id)).find((stored) => stored.id === id);
  if (key === undefined) throw notFound('API key');
  return key.revokedAtMs ?? nowMs;
}

/** Revokes a key, given its id or an unambiguous prefix of it. A key that is already revoked is left as it is. */
export async function revokeKey(core: ManageKeysNeeds, email: string, idOrPrefix: string): Promise<OwnedKey> {
  const account = await findAccount(core, email);
  const match = matchKey(await core.store.accounts.listKeys(account.id), idOrPrefix);
  if (match.kind === 'none') {
    const message = `${account.email} has no key ${idOrPrefix}. List its keys to see their ids.`;
    throw new AccountError('unknown_key', message);
  }
  if (match.kind === 'several') {
    const message = `${idOrPrefix} matches several keys: ${match.ids.join(', ')}. Give more of the id.`;
    throw new AccountError('ambiguous_key', message);
  }
  const { id } = match.key;
  if (await core.store.accounts.revokeKey(account.id, id, core.clock.nowMs())) {
    core.log.info({ account_id: account.id, key_id: id }, 'key_revoked');
  }
  const stored = (await core.store.accounts.listKeys(account.id)).find((key) => key.id === id);
  return { account, key: stored ?? match.key };
}

export type KeyMatch =
  | { readonly kind: 'one'; readonly key: ApiKeyRecord }
  | { readonly kind: 'none' }
  | { readonly kind: 'several'; readonly ids: readonly string[] };

/** `key_` and four characters. Anything shorter could match a key by accident. */
const minPrefixLength = 8;

/** The key with this id, or else the only key whose id has this prefix. */
export function matchKey(keys: readonly ApiKeyRecord[], idOrPrefix: string): KeyMatch {
  const exact = keys.find(({ id }) => id === idOrPrefix);
  if (exact !== undefined) return { kind: 'one', key: exact };
  const matching = idOrPrefix.length < minPrefixLength ? [] : keys.filter(({ id }) => id.startsWith(idOrPrefix));
  const [only] = matching;
  if (only === undefined) return { kind: 'none' };
  return matching.length === 1 ? { kind: 'one', key: only } : { kind: 'several', ids: matching.map(({ id }) => id) };
}
