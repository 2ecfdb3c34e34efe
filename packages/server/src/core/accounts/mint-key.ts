import type { NewApiKey } from '../ports/store/account-store.ts';
import type { AccountsContext } from './accounts-context.ts';
import { hashApiKey, newApiKey, prefixOfApiKey } from './api-key.ts';

/** A fresh key: what to show once, and what to keep. */
export function mintKey(core: AccountsContext): { readonly apiKey: string; readonly key: NewApiKey } {
  const apiKey = newApiKey();
  return { apiKey, key: { id: core.ids.next('key'), hash: hashApiKey(apiKey), prefix: prefixOfApiKey(apiKey) } };
}
