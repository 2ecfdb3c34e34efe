import { type MintKeyNeeds, mintKey } from '../core/accounts/api-keys.ts';
import type { Metrics } from '../core/ports/metrics.ts';
import type { Clock, Log } from '../core/ports/runtime.ts';
import type { AccountStore } from '../core/ports/store/account-store.ts';
import type { Config } from './config.ts';

/** What creating the first account needs. */
export interface BootstrapNeeds extends MintKeyNeeds {
  readonly store: { readonly accounts: AccountStore };
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly log: Log;
}

type BootstrapSettings = Pick<Config, 'bootstrapEmail' | 'bootstrapApiKey' | 'bootstrapCreditMicroUsd'>;

export interface FirstAccount {
  readonly email: string;
  /** Shown once; undefined if the operator set the key. */
  readonly generatedKey: string | undefined;
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
    return { email: account.email, generatedKey: settings.bootstrapApiKey === undefined ? apiKey : undefined };
  }
  if (settings.bootstrapApiKey !== undefined && !(await core.store.accounts.findByKeyHash(key.hash))) {
    core.log.warn({ setting: 'MAYFLY_BOOTSTRAP_API_KEY' }, 'setting_ignored_after_first_start');
  }
  return undefined;
}
