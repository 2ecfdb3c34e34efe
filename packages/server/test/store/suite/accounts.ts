import { expect, test } from 'vitest';
import { account, insert, insertRunning, newAccount, newSnapshot, type OpenedStore } from '../fixtures.ts';

export function describeAccounts(opened: OpenedStore): void {
  test('the first account is created once, and is found by its key', async () => {
    const { accounts } = opened();
    expect(await accounts.createFirst(newAccount('2'))).toBe(false);
    const owner = await accounts.findByKeyHash(account.key.hash);
    expect(owner).toEqual({
      account: { id: account.id, email: account.email, suspended: false, limits: {}, createdAtMs: 1 },
      keyId: account.key.id,
      revokedAtMs: null,
    });
    expect(await accounts.findByKeyHash('other')).toBeUndefined();
    expect(await accounts.findByKeyHash(newAccount('2').key.hash)).toBeUndefined();
  });

  test('e-mail addresses are unique and found ignoring case', async () => {
    const { accounts } = opened();
    expect(await accounts.create(newAccount('2', { email: 'Zoë.ÉLAN@Example.com' }))).toBe(true);
    expect(await accounts.create(newAccount('3', { email: 'zoë.élan@example.COM' }))).toBe(false);
    expect(await accounts.create(newAccount('3', { email: account.email.toLowerCase() }))).toBe(false);
    expect((await accounts.findByEmail('ZOË.élan@example.com'))?.email).toBe('Zoë.ÉLAN@Example.com');
    expect(await accounts.findByEmail('nobody@example.com')).toBeUndefined();
    expect(await accounts.findByKeyHash(newAccount('3').key.hash)).toBeUndefined();
    expect((await accounts.list()).map(({ id }) => id)).toEqual([account.id, 'acct_2']);
  });

  test('of concurrent creates with the same e-mail address one succeeds', async () => {
    const made = await Promise.all(
      Array.from({ length: 8 }, (_, index) =>
        opened().accounts.create(newAccount(`n${index}`, { email: index % 2 ? 'n@localhost' : 'N@localhost' })),
      ),
    );
    expect(made.filter(Boolean)).toHaveLength(1);
  });

  test('an account is suspended and resumed', async () => {
    const { accounts } = opened();
    const suspended = async () => (await accounts.findByKeyHash(account.key.hash))?.account.suspended;
    await accounts.setSuspended(account.id, true);
    expect(await suspended()).toBe(true);
    await accounts.setSuspended(account.id, false);
    expect(await suspended()).toBe(false);
  });

  test('limits of an account are set and reset one by one', async () => {
    const { accounts } = opened();
    const limits = async () => (await accounts.findByEmail(account.email))?.limits;
    await accounts.setLimits(account.id, { concurrentSandboxes: 3, apiKeys: 0, requestsPerMinute: 1000 });
    expect(await limits()).toEqual({ concurrentSandboxes: 3, apiKeys: 0, requestsPerMinute: 1000 });
    await accounts.setLimits(account.id, { concurrentSandboxes: null, maxTimeoutMinutes: 5, creationsPerMinute: 7 });
    await accounts.setLimits(account.id, {});
    expect(await limits()).toEqual({
      apiKeys: 0,
      requestsPerMinute: 1000,
      maxTimeoutMinutes: 5,
      creationsPerMinute: 7,
    });
  });

  test('keys are added up to the limit of active keys, even concurrently', async () => {
    const { accounts } = opened();
    const add = (name: string) =>
      accounts.addKey(account.id, { id: `key_${name}`, hash: `hash_${name}`, prefix: name }, 2, 4);
    const added = await Promise.all(['a', 'b', 'c', 'd', 'e', 'f'].map(add));
    expect(added.filter(Boolean)).toHaveLength(3);
    expect(await accounts.listKeys(account.id)).toHaveLength(4);
    expect(await accounts.revokeKey(account.id, account.key.id, 9)).toBe(true);
    expect(await add('g')).toBe(true);
    expect(await accounts.findByKeyHash('hash_g')).toMatchObject({ account: { id: account.id }, keyId: 'key_g' });
  });

  test('an account can be created without a key', async () => {
    const { accounts } = opened();
    expect(await accounts.create({ ...newAccount('2'), key: null })).toBe(true);
    expect(await accounts.listKeys('acct_2')).toEqual([]);
  });

  test('a key has a name, and the time of its last use once it was used', async () => {
    const { accounts } = opened();
    await accounts.addKey(account.id, { id: 'key_a', hash: 'hash_a', prefix: 'mf_', name: 'Zoë’s <laptop>' }, 2, 4);
    await accounts.noteKeyUses([], 5);
    await accounts.noteKeyUses(['key_a', 'key_gone'], 1_790_000_000_000);
    expect((await accounts.listKeys(account.id)).map((key) => [key.name, key.lastUsedAtMs])).toEqual([
      [null, null],
      ['Zoë’s <laptop>', 1_790_000_000_000],
    ]);
  });

  test('a key is revoked once, only by its own account, and stays in the list', async () => {
    const { accounts } = opened();
    await accounts.create(newAccount('2'));
    expect(await accounts.revokeKey('acct_2', account.key.id, 9)).toBe(false);
    expect(await accounts.revokeKey(account.id, account.key.id, 9)).toBe(true);
    expect(await accounts.revokeKey(account.id, account.key.id, 10)).toBe(false);
    expect((await accounts.findByKeyHash(account.key.hash))?.revokedAtMs).toBe(9);
    expect(await accounts.listKeys(account.id)).toEqual([
      { id: 'key_1', prefix: 'mf_', name: null, createdAtMs: 1, lastUsedAtMs: null, revokedAtMs: 9 },
    ]);
  });

  test('the use of limits counts what is open, stored and not revoked, of the account alone', async () => {
    const { accounts, sandboxes, snapshots } = opened();
    const nothing = { openSandboxes: 0, snapshots: 0, snapshotBytes: 0, activeKeys: 1, storedOutputBytes: 0 };
    expect(await accounts.use(account.id)).toEqual(nothing);
    await accounts.create(newAccount('2'));
    await insert(opened(), 'sbx_provisioning');
    await insertRunning(opened(), 'sbx_running');
    await sandboxes.change(await insert(opened(), 'sbx_failed'), { status: 'failed' });
    for (const id of ['snap_a', 'snap_b']) {
      await snapshots.insert(newSnapshot(id, 'sbx_running'), () => undefined);
    }
    await snapshots.complete('snap_a', 7e12, 5);
    await accounts.addKey(account.id, { id: 'key_more', hash: 'more', prefix: 'mf_' }, 1, 10);
    await accounts.addKey(account.id, { id: 'key_old', hash: 'old', prefix: 'mf_' }, 1, 10);
    await accounts.revokeKey(account.id, 'key_old', 2);
    const used = { openSandboxes: 2, snapshots: 2, snapshotBytes: 7e12, activeKeys: 2, storedOutputBytes: 0 };
    expect(await accounts.use(account.id)).toEqual(used);
    expect(await accounts.use('acct_2')).toEqual(nothing);
  });
}
