import { mintKey } from '../core/accounts/api-keys.ts';
import type { Core } from '../core/context.ts';
import type { Config } from './config.ts';

type BootstrapSettings = Pick<Config, 'bootstrapEmail' | 'bootstrapApiKey' | 'bootstrapCreditMicroUsd'>;

export interface FirstAccount {
  readonly email: string;
  /** Shown once; undefined if the operator set the key. */
  readonly generatedKey: string | undefined;
}

/** Creates the first account and its key on the very first start. Returns undefined once there is an account. */
export async function bootstrapAccount(core: Core, settings: BootstrapSettings): Promise<FirstAccount | undefined> {
  const { apiKey, key } = mintKey(core, settings.bootstrapApiKey);
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
