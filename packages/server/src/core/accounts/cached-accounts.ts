import type { Clock } from '../ports/runtime.ts';
import type { AccountStore, KeyOwner } from '../ports/store/account-store.ts';

/** How long an entry is used. Matters only when another program changes the database. */
const ttlMs = 2_000;
const maxEntries = 10_000;

/**
 * Caches the lookup of a key's owner, which every request makes: about 0.3 µs instead of 20 µs with SQLite, or a round trip with
 * PostgreSQL. A change made through this store is seen by the next request, because every write empties the cache. `onFound` is called whenever
 * an owner was read from the database: for a key that is in use, every few seconds.
 */
export function cachedAccounts(
  accounts: AccountStore,
  clock: Clock,
  onFound: (owner: KeyOwner) => void = () => {},
): AccountStore {
  const cache = new Map<string, { readonly owner: KeyOwner; readonly untilMs: number }>();
  let generation = 0;
  /** Waits for a write, then drops all that was read before or during it. */
  const invalidating = async <T>(write: Promise<T>): Promise<T> => {
    try {
      return await write;
    } finally {
      generation += 1;
      cache.clear();
    }
  };
  return {
    findByKeyHash: async (hash) => {
      const cached = cache.get(hash);
      if (cached !== undefined && clock.nowMs() < cached.untilMs) return cached.owner;
      const generationBefore = generation;
      const owner = await accounts.findByKeyHash(hash);
      if (owner !== undefined) onFound(owner);
      if (owner === undefined || generationBefore !== generation) return owner;
      if (cache.size >= maxEntries) cache.clear();
      cache.set(hash, { owner, untilMs: clock.nowMs() + ttlMs });
      return owner;
    },
    findByEmail: (email) => accounts.findByEmail(email),
    list: () => accounts.list(),
    listKeys: (accountId) => accounts.listKeys(accountId),
    createFirst: (account) => invalidating(accounts.createFirst(account)),
    create: (account) => invalidating(accounts.create(account)),
    setSuspended: (id, suspended) => invalidating(accounts.setSuspended(id, suspended)),
    setLimits: (id, limits) => invalidating(accounts.setLimits(id, limits)),
    addKey: (accountId, key, createdAtMs, maxActive) =>
      invalidating(accounts.addKey(accountId, key, createdAtMs, maxActive)),
    use: (accountId) => accounts.use(accountId),
    noteKeyUses: (keyIds, usedAtMs) => accounts.noteKeyUses(keyIds, usedAtMs),
    revokeKey: (accountId, keyId, revokedAtMs) => invalidating(accounts.revokeKey(accountId, keyId, revokedAtMs)),
  };
}
