import type { Clock } from '../ports/clock.ts';
import type { AccountStore, KeyOwner } from '../ports/store/account-store.ts';

/** How long an answer is used; only somebody who changes the database behind the service's back notices. */
const keptMs = 2_000;
const maxKept = 10_000;

/** Remembers who owns a key for a moment, since every request asks. Whatever is changed through here is seen by the next request. */
export function cachedAccounts(accounts: AccountStore, clock: Clock): AccountStore {
  const kept = new Map<string, { readonly owner: KeyOwner; readonly untilMs: number }>();
  /** Changes something; nothing that was read before or meanwhile is used afterwards. */
  const changing = async <T>(change: Promise<T>): Promise<T> => {
    try {
      return await change;
    } finally {
      generation += 1;
      kept.clear();
    }
  };
  let generation = 0;
  return {
    findByKeyHash: async (hash) => {
      const known = kept.get(hash);
      if (known !== undefined && clock.nowMs() < known.untilMs) return known.owner;
      const asked = generation;
      const owner = await accounts.findByKeyHash(hash);
      if (owner === undefined || asked !== generation) return owner;
      if (kept.size >= maxKept) kept.clear();
      kept.set(hash, { owner, untilMs: clock.nowMs() + keptMs });
      return owner;
    },
    findByEmail: (email) => accounts.findByEmail(email),
    list: () => accounts.list(),
    listKeys: (accountId) => accounts.listKeys(accountId),
    createFirst: (account) => changing(accounts.createFirst(account)),
    create: (account) => changing(accounts.create(account)),
    setSuspended: (id, suspended) => changing(accounts.setSuspended(id, suspended)),
    setLimits: (id, limits) => changing(accounts.setLimits(id, limits)),
    addKey: (accountId, key, createdAtMs, maxActive) =>
      changing(accounts.addKey(accountId, key, createdAtMs, maxActive)),
    revokeKey: (accountId, keyId, revokedAtMs) => changing(accounts.revokeKey(accountId, keyId, revokedAtMs)),
  };
}
