import { hashApiKey, newApiKey, prefixOfApiKey } from '../core/accounts/api-key.ts';
import type { Core } from '../core/context.ts';
import type { Config } from './config.ts';

type BootstrapSettings = Pick<Config, 'bootstrapEmail' | 'bootstrapApiKey' | 'bootstrapCreditMicroUsd'>;

export interface FirstAccount {
  readonly email: string;
  /** To be shown once; undefined when the operator chose it. */
  readonly generatedKey: string | undefined;
}

/** On the very first start: makes the first account and its key. Gives undefined once there is an account. */
export async function bootstrapAccount(core: Core, settings: BootstrapSettings): Promise<FirstAccount | undefined> {
  const key = settings.bootstrapApiKey ?? newApiKey();
  const account = {
    id: core.ids.next('acct'),
    email: settings.bootstrapEmail,
    openingCreditMicroUsd: settings.bootstrapCreditMicroUsd,
    createdAtMs: core.clock.nowMs(),
    key: { id: core.ids.next('key'), hash: hashApiKey(key), prefix: prefixOfApiKey(key) },
  };
  if (await core.store.accounts.createFirst(account)) {
    core.log.info({ account_id: account.id, key_id: account.key.id }, 'first_account_created');
    return { email: account.email, generatedKey: settings.bootstrapApiKey === undefined ? key : undefined };
  }
  if (settings.bootstrapApiKey !== undefined && !(await core.store.accounts.findByKeyHash(account.key.hash))) {
    core.log.warn({ setting: 'MAYFLY_BOOTSTRAP_API_KEY' }, 'setting_ignored_after_first_start');
  }
  return undefined;
}
