import { type AccountLimits, accountLimitNames, defaultLimits } from '@mayfly/contract';
import { maxMicroUsd } from '@mayfly/contract/admin';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { StubClock } from '../../../test/app/stub-service.ts';
import { openSqliteStore } from '../../store/sqlite/open.ts';
import { randomIds } from '../ids/random-ids.ts';
import { noMetrics } from '../ports/metrics.ts';
import type { Store } from '../ports/store/store.ts';
import { type AccountLimitsNeeds, getLimits, setLimits } from './account-limits.ts';
import { createKey, hashApiKey, listKeys, type ManageKeysNeeds, revokeKey } from './api-keys.ts';
import { addCredit, createAccount, listAccounts, type ManageAccountsNeeds, setSuspended } from './manage-accounts.ts';

const email = 'ada@example.com';
let store: Store;
let clock: StubClock;
let events: { readonly event: string; readonly fields: object }[];
let credited: number[];
let core: ManageAccountsNeeds & ManageKeysNeeds & AccountLimitsNeeds;
beforeEach(async () => {
  store = await openSqliteStore(':memory:');
  clock = new StubClock();
  events = [];
  const note = (fields: object, event: string) => void events.push({ event, fields });
  const log = { debug: note, info: note, warn: note, error: note };
  credited = [];
  const metrics = { ...noMetrics, credited: (microUsd: number) => void credited.push(microUsd) };
  core = { store, clock, log, metrics, ids: randomIds, limits: defaultLimits };
});
afterEach(() => store.close());

const create = (creditMicroUsd = 0, address = email) => createAccount(core, { email: address, creditMicroUsd });

describe('an account', () => {
  test('is created with its credit and a key', async () => {
    const created = await create(25_000_000);
    expect(created).toMatchObject({ account: { email, suspended: false, limits: {} }, balanceMicroUsd: 25_000_000 });
    expect(created.apiKey).toMatch(/^mf_/);
    const owner = await store.accounts.findByKeyHash(hashApiKey(created.apiKey));
    expect(owner).toMatchObject({ account: { id: created.account.id }, keyId: created.keyId });
  });

  test('is rejected when its e-mail address is taken, ignoring case, and nothing is stored', async () => {
    await create(1);
    await expect(create(2, 'Ada@Example.com')).rejects.toMatchObject({
      type: 'email_taken',
      message: 'There already is an account Ada@Example.com. Create another key for it instead.',
    });
    expect(await listAccounts(core)).toHaveLength(1);
    expect(await listKeys(core, email)).toHaveLength(1);
  });

  test('is listed with its current balance', async () => {
    const { account } = await create(100_000);
    clock.advanceMs(1);
    await create(0, 'bob@example.com');
    const fresh = { name: null, size: 'small', timeoutMinutes: 15, idempotencyKey: null } as const;
    const terms = { accountId: account.id, priceMicroUsdPerHour: 50_000, createdAtMs: clock.nowMs() };
    await store.sandboxes.insert({ id: 'sbx_a', ...fresh, ...terms }, () => undefined);
    const guard = { id: 'sbx_a', status: 'provisioning', machineId: null, expiresAtMs: null } as const;
    await store.sandboxes.change(guard, { status: 'running', readyAtMs: clock.nowMs(), expiresAtMs: 9e12 });
    clock.advanceMs(3_600_000);
    const listed = await listAccounts(core);
    expect(listed.map(({ account: { email: shown }, balanceMicroUsd }) => [shown, balanceMicroUsd])).toEqual([
      [email, 50_000],
      ['bob@example.com', 0],
    ]);
  });

  test('is suspended and resumed repeatedly', async () => {
    await create();
    expect((await setSuspended(core, email, true)).account.suspended).toBe(true);
    expect((await setSuspended(core, 'ADA@example.com', true)).account.suspended).toBe(true);
    expect((await setSuspended(core, email, false)).account.suspended).toBe(false);
  });

  test('that does not exist is named in every error', async () => {
    const refusal = { type: 'unknown_account', message: expect.stringContaining('There is no account no@body') };
    await expect(setSuspended(core, 'no@body', true)).rejects.toMatchObject(refusal);
    await expect(addCredit(core, 'no@body', { amountMicroUsd: 1, note: '' })).rejects.toMatchObject(refusal);
    await expect(setLimits(core, 'no@body', {})).rejects.toMatchObject(refusal);
    await expect(createKey(core, 'no@body')).rejects.toMatchObject(refusal);
    await expect(listKeys(core, 'no@body')).rejects.toMatchObject(refusal);
    await expect(revokeKey(core, 'no@body', 'key_a')).rejects.toMatchObject(refusal);
  });
});

describe('credit', () => {
  const credit = (amountMicroUsd: number) => addCredit(core, email, { amountMicroUsd, note: 'invoice 7' });

  test('is added, and withdrawn down to a balance of zero', async () => {
    await create(5);
    expect((await credit(25_000_000)).balanceMicroUsd).toBe(25_000_005);
    await expect(credit(-25_000_006)).rejects.toThrow(
      'ada@example.com: At most the balance of 25.000005 USD can be withdrawn.',
    );
    expect((await credit(-25_000_005)).balanceMicroUsd).toBe(0);
    expect(credited).toEqual([5, 25_000_000, -25_000_005]);
    await expect(credit(-1)).rejects.toThrow('There is no credit to withdraw. The balance is 0.00 USD.');
  });

  test('has a maximum', async () => {
    await create(maxMicroUsd);
    await expect(credit(1)).rejects.toThrow('The maximum is 1000000000.00 USD');
  });
});

describe('limits', () => {
  const service: AccountLimits = {
    requestsPerMinute: 120,
    creationsPerMinute: 40,
    concurrentSandboxes: 20,
    maxTimeoutMinutes: 1440,
    apiKeys: 10,
    storedOutputMb: 1_024,
    snapshots: 20,
    snapshotStorageMb: 102_400,
  };

  test('follow the service until one is set, and again once it is reset', async () => {
    await create();
    expect((await getLimits(core, email)).limits).toMatchObject(service);
    const set = await setLimits(core, email, { concurrentSandboxes: 50, requestsPerMinute: 600 });
    expect(set.limits).toMatchObject({ ...service, concurrentSandboxes: 50, requestsPerMinute: 600 });
    expect(set.account.limits).toEqual({ concurrentSandboxes: 50, requestsPerMinute: 600 });
    const back = await setLimits(core, email, { concurrentSandboxes: null, apiKeys: undefined });
    expect(back.account.limits).toEqual({ requestsPerMinute: 600 });
  });

  test('cannot exceed the maximum lifetime of the service', async () => {
    await create();
    await expect(setLimits(core, email, { maxTimeoutMinutes: 1441 })).rejects.toMatchObject({
      type: 'invalid_request',
      message: expect.stringContaining('at most 1440'),
    });
    expect((await setLimits(core, email, { maxTimeoutMinutes: 1440 })).limits.maxTimeoutMinutes).toBe(1440);
  });

  test('can be set for every name', async () => {
    await create();
    const changes = Object.fromEntries(accountLimitNames.map((name) => [name, 7]));
    expect((await setLimits(core, email, changes)).account.limits).toEqual(changes);
  });
});

describe('keys', () => {
  test('the limit of active keys holds, even for concurrent requests', async () => {
    await create();
    const asked = await Promise.allSettled(Array.from({ length: 15 }, () => createKey(core, email)));
    expect(asked.filter(({ status }) => status === 'fulfilled')).toHaveLength(9);
    await expect(createKey(core, email)).rejects.toMatchObject({
      type: 'too_many_keys',
      message: 'ada@example.com has reached its limit of 10 active keys. Revoke one, or raise its limit api_keys.',
    });
    const [first] = await listKeys(core, email);
    await revokeKey(core, email, first?.key.id ?? '');
    const { apiKey } = await createKey(core, email);
    expect(await store.accounts.findByKeyHash(hashApiKey(apiKey))).toMatchObject({ revokedAtMs: null });
  });

  test('are revoked by id or by a prefix of it; revoking again changes nothing', async () => {
    const { keyId, apiKey } = await create();
    const first = await revokeKey(core, email, keyId.slice(0, 12));
    expect(first.key).toMatchObject({ id: keyId, revokedAtMs: clock.nowMs() });
    expect((await store.accounts.findByKeyHash(hashApiKey(apiKey)))?.revokedAtMs).toBe(clock.nowMs());
    clock.advanceMs(1000);
    expect(await revokeKey(core, email, keyId)).toEqual(first);
  });

  test('of another account are unknown', async () => {
    const { keyId } = await create();
    await create(0, 'bob@example.com');
    await expect(revokeKey(core, 'bob@example.com', keyId)).rejects.toMatchObject({ type: 'unknown_key' });
    await expect(revokeKey(core, email, 'key_')).rejects.toMatchObject({ type: 'unknown_key' });
    expect((await listKeys(core, email))[0]?.key.revokedAtMs).toBeNull();
  });
});

test('every change is logged, without any key', async () => {
  const { apiKey, keyId } = await create(1_000_000);
  await addCredit(core, email, { amountMicroUsd: 5, note: '' });
  await setSuspended(core, email, true);
  await setSuspended(core, email, false);
  await setLimits(core, email, { apiKeys: 3 });
  const second = await createKey(core, email);
  await revokeKey(core, email, keyId);
  expect(events.map(({ event }) => event)).toEqual([
    'account_created',
    'credit_added',
    'account_suspended',
    'account_resumed',
    'account_limits_set',
    'key_created',
    'key_revoked',
  ]);
  const written = JSON.stringify(events);
  for (const secret of [apiKey, second.apiKey, hashApiKey(apiKey)]) expect(written).not.toContain(secret);
});
