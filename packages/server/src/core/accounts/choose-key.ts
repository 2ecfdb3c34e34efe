import type { ApiKeyRecord } from '../ports/store/account-store.ts';

export type KeyChoice =
  | { readonly kind: 'one'; readonly key: ApiKeyRecord }
  | { readonly kind: 'none' }
  | { readonly kind: 'several'; readonly ids: readonly string[] };

/** `key_` and four characters: anything shorter names a key by accident. */
const minBeginning = 8;

/** The key that is meant by an id or the beginning of one. */
export function chooseKey(keys: readonly ApiKeyRecord[], named: string): KeyChoice {
  const exact = keys.find(({ id }) => id === named);
  if (exact !== undefined) return { kind: 'one', key: exact };
  const matching = named.length < minBeginning ? [] : keys.filter(({ id }) => id.startsWith(named));
  const [only] = matching;
  if (only === undefined) return { kind: 'none' };
  return matching.length === 1 ? { kind: 'one', key: only } : { kind: 'several', ids: matching.map(({ id }) => id) };
}
