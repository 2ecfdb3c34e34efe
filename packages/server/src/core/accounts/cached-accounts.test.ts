import { expect, test } from 'vitest';
import type { AccountStore, KeyOwner } from '../ports/store/account-store.ts';
import { cachedAccounts } from './cached-accounts.ts';

/** An account store with one key, which counts how often it is asked. */
function stubAccounts() {
  const account = { id: 'acct_1', email: 'a@b', suspended: false, limits: {}, createdAtMs: 0 };
  const state = { asked: 0, owner: { account, keyId: 'key_1', revokedAtMs: null } as KeyOwner, nowMs: 0 };
  const store = {
    findByKeyHash: async (hash: string) => {
      state.asked += 1;
      return hash === 'known' ? state.owner : undefined;
    },
    setSuspended: async (_id: string, suspended: boolean) => {
      state.owner = { ...state.owner, account: { ...account, suspended } };
    },
  } as Partial<AccountStore> as AccountStore;
  return { state, cached: cachedAccounts(store, { nowMs: () => state.nowMs }) };
}

test('a key is looked up again only when its entry has expired', async () => {
  const { state, cached } = stubAccounts();
  for (let count = 0; count < 5; count++) await cached.findByKeyHash('known');
  expect(state.asked).toBe(1);
  state.nowMs = 2_000;
  await cached.findByKeyHash('known');
  expect(state.asked).toBe(2);
});

test('a change is seen by the next request', async () => {
  const { cached } = stubAccounts();
  expect((await cached.findByKeyHash('known'))?.account.suspended).toBe(false);
  await cached.setSuspended('acct_1', true);
  expect((await cached.findByKeyHash('known'))?.account.suspended).toBe(true);
});

test('a lookup that started before a change is not cached', async () => {
  const { cached } = stubAccounts();
  const reading = cached.findByKeyHash('known');
  await cached.setSuspended('acct_1', true);
  await reading;
  expect((await cached.findByKeyHash('known'))?.account.suspended).toBe(true);
});

test('unknown keys are not cached', async () => {
  const { state, cached } = stubAccounts();
  await cached.findByKeyHash('guess');
  await cached.findByKeyHash('guess');
  expect(state.asked).toBe(2);
});
