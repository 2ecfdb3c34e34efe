import { type MintKeyNeeds, mintKey } from '../core/accounts/api-keys.ts';
import type { Metrics } from '../core/ports/metrics.ts';
import type { Clock, Log } from '../core/ports/runtime.ts';
import type { AccountStore } from '../core/ports/store/account-store.ts';
import type { SignInStore } from '../core/ports/store/sign-in-store.ts';
import type { Passwords } from '../core/sign-in/passwords.ts';
import type { Config } from './config.ts';

/** What creating the first account needs. */
export interface BootstrapNeeds extends MintKeyNeeds {
  readonly store: { readonly accounts: AccountStore; readonly signIns: SignInStore };
  readonly passwords: Passwords;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly log: Log;
}

type BootstrapSettings = Pick<
  Config,
  'bootstrapEmail' | 'bootstrapApiKey' | 'bootstrapPassword' | 'bootstrapCreditMicroUsd'
>;

export interface FirstAccount {
  readonly email: string;
  /** Shown once; undefined if the operator set the key. */
  readonly generatedKey: string | undefined;
  /** Whether the operator set a password. Otherwise a link signs in. */
  readonly hasPassword: boolean;
}

/** Creates the first account and its key on the very first start. Returns undefined once there is an account. */
export async function bootstrapAccount(
  core: BootstrapNeeds,
  settings: BootstrapSettings,
): Promise<FirstAccount | undefined> {
  const { apiKey, key } = mintKey(core, { apiKey: settings.bootstrapApiKey, name: 'bootstrap' });
  const account = {
    id: core.ids.next('acct'),
    email: settings.bootstrapEmail,
    openingCreditMicroUsd: settings.bootstrapCreditMicroUsd,
    createdAtMs: core.clock.nowMs(),
    key,
  };
  if (await core.store.accounts.createFirst(account)) {
    core.metrics.credited(account.openingCreditMicroUsd);
    core.log.info({ account_id: account.id, key_id: key.id }, 'first_account_created');
    const { bootstrapPassword } = settings;
    if (bootstrapPassword !== undefined) {
      await core.store.signIns.setFirstPassword(account.id, await core.passwords.hash(bootstrapPassword));
    }
    const generatedKey = settings.bootstrapApiKey === undefined ? apiKey : undefined;
    return { email: account.email, generatedKey, hasPassword: bootstrapPassword !== undefined };
  }
  if (settings.bootstrapApiKey !== undefined && !(await core.store.accounts.findByKeyHash(key.hash))) {
    core.log.warn({ setting: 'MAYFLY_BOOTSTRAP_API_KEY' }, 'setting_ignored_after_first_start');
  }
  return undefined;
}
