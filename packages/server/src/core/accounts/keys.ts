import { limitsOf } from '../admission/account-limits.ts';
import type { AccountRecord, ApiKeyRecord } from '../ports/store/account-store.ts';
import type { AccountsContext } from './accounts-context.ts';
import { chooseKey } from './choose-key.ts';
import { mintKey } from './mint-key.ts';
import { AccountRefusal } from './refusal.ts';
import { requireAccount } from './require-account.ts';

/** A key and whose it is. */
export interface OwnedKey {
  readonly account: AccountRecord;
  readonly key: ApiKeyRecord;
}

export interface CreatedKey extends OwnedKey {
  /** To be shown once; it is not kept. */
  readonly apiKey: string;
}

/** Every key of an account, oldest first, revoked ones included. */
export async function listKeys(core: AccountsContext, email: string): Promise<readonly OwnedKey[]> {
  const account = await requireAccount(core, email);
  const keys = await core.store.accounts.listKeys(account.id);
  return keys.map((key) => ({ account, key }));
}

/** Makes one more key, unless the account has as many active ones as it may have. */
export async function createKey(core: AccountsContext, email: string): Promise<CreatedKey> {
  const account = await requireAccount(core, email);
  const { apiKeys } = limitsOf(core.limits, account);
  const { apiKey, key } = mintKey(core);
  const createdAtMs = core.clock.nowMs();
  if (!(await core.store.accounts.addKey(account.id, key, createdAtMs, apiKeys))) {
    const message = `${account.email} has ${apiKeys} active keys, as many as it may have; revoke one, or raise its limit api_keys`;
    throw new AccountRefusal('too_many_keys', message);
  }
  core.log.info({ account_id: account.id, key_id: key.id }, 'key_created');
  return { account, apiKey, key: { id: key.id, prefix: key.prefix, createdAtMs, revokedAtMs: null } };
}

/** Ends a key, named by its id or an unmistakable beginning of it. One that was revoked before stays as it is. */
export async function revokeKey(core: AccountsContext, email: string, named: string): Promise<OwnedKey> {
  const account = await requireAccount(core, email);
  const chosen = chooseKey(await core.store.accounts.listKeys(account.id), named);
  if (chosen.kind === 'none') {
    throw new AccountRefusal('unknown_key', `${account.email} has no key ${named}; list its keys to see their ids`);
  }
  if (chosen.kind === 'several') {
    const message = `${named} may be any of ${chosen.ids.join(', ')}; write more of the id`;
    throw new AccountRefusal('ambiguous_key', message);
  }
  const { id } = chosen.key;
  if (await core.store.accounts.revokeKey(account.id, id, core.clock.nowMs())) {
    core.log.info({ account_id: account.id, key_id: id }, 'key_revoked');
  }
  const kept = (await core.store.accounts.listKeys(account.id)).find((key) => key.id === id);
  return { account, key: kept ?? chosen.key };
}
