import { accountSchema, usageSchema } from '@mayfly/contract';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { stubService } from '../../../test/app/stub-service.ts';

let service: Awaited<ReturnType<typeof stubService>>;
beforeEach(async () => {
  service = await stubService();
});
afterEach(() => service[Symbol.asyncDispose]());

const create = async (body: object = {}) => (await service.call('POST', '/v1/sandboxes', body)).body.id;
const account = async () => accountSchema.parse((await service.call('GET', '/v1/account')).body);
const usage = async (query = '') => usageSchema.parse((await service.call('GET', `/v1/usage${query}`)).body);
/** Sets the account's balance. */
const setBalance = async (microUsd: number) => {
  const { settledMicroUsd } = await service.store.ledger.funds('acct_test');
  const credit = { id: `led_${Math.random()}`, accountId: 'acct_test', createdAtMs: service.clock.nowMs(), note: '' };
  await service.store.ledger.addCredit({ ...credit, amountMicroUsd: microUsd - settledMicroUsd });
};

test('the account shows its balance, limits and prices', async () => {
  expect(await account()).toEqual({
    object: 'account',
    id: 'acct_test',
    email: 'a@localhost',
    balance_usd: 100,
    limits: { concurrent_sandboxes: 20, max_timeout_minutes: 1440 },
    pricing_usd_per_hour: { small: 0.05, medium: 0.1, large: 0.2 },
  });
});

describe('billing of a sandbox', () => {
  test('runs from ready to delete', async () => {
    const id = await create({ size: 'large', timeout_minutes: 120 });
    service.clock.advanceMs(1_800_000);
    expect((await account()).balance_usd).toBe(99.9);
    await service.call('DELETE', `/v1/sandboxes/${id}`);
    service.clock.advanceMs(1_800_000);
    expect((await account()).balance_usd).toBe(99.9);
    expect(await usage()).toEqual({
      object: 'usage',
      period_days: 30,
      balance_usd: 99.9,
      spent_usd: 0.1,
      snapshot_storage_usd: 0,
      added_usd: 100,
      sandboxes_created: 1,
      runtime_minutes: 30,
    });
  });

  test('a sandbox that failed to provision costs nothing and does not count as created', async () => {
    service.driver.beforeLaunched = () => Promise.reject(new Error('no'));
    await service.call('POST', '/v1/sandboxes');
    service.clock.advanceMs(3_600_000);
    expect(await usage()).toMatchObject({ balance_usd: 100, spent_usd: 0, runtime_minutes: 0, sandboxes_created: 0 });
  });

  test('a sandbox that died is charged up to its death', async () => {
    await create();
    service.clock.advanceMs(36_000);
    service.driver.newest.die('kernel panic');
    await expect.poll(async () => (await usage()).spent_usd).toBe(0.0005);
    service.clock.advanceMs(36_000);
    expect((await account()).balance_usd).toBe(99.9995);
  });
});

describe('usage', () => {
  test('covers the requested number of days', async () => {
    const id = await create();
    service.clock.advanceMs(600_000);
    await service.call('DELETE', `/v1/sandboxes/${id}`);
    service.clock.advanceMs(3 * 86_400_000);
    expect(await usage('?days=2')).toMatchObject({ period_days: 2, spent_usd: 0, added_usd: 0, sandboxes_created: 0 });
    expect(await usage('?days=4')).toMatchObject({ period_days: 4, runtime_minutes: 10, sandboxes_created: 1 });
  });

  test.each(['0', '366', '1.5', 'x', '-1', ''])('refuses days=%s', async (days) => {
    const answer = await service.call('GET', `/v1/usage?days=${days}`);
    expect([answer.status, answer.body.error.type]).toEqual([400, 'invalid_request']);
    expect(answer.body.error.message).toBe('days must be an integer from 1 to 365');
  });

  test('includes running sandboxes', async () => {
    await create();
    service.clock.advanceMs(300_000);
    expect(await usage('?days=1')).toMatchObject({ spent_usd: 0.004167, runtime_minutes: 5 });
  });
});

describe('insufficient credits', () => {
  test('a create of any size needs five minutes of a small sandbox', async () => {
    await setBalance(4_166);
    for (const size of ['small', 'large']) {
      const answer = await service.call('POST', '/v1/sandboxes', { size });
      expect([answer.status, answer.body.error.type]).toEqual([402, 'insufficient_credits']);
    }
    await setBalance(4_167);
    expect((await service.call('POST', '/v1/sandboxes', { size: 'large' })).status).toBe(201);
  });

  test('at zero balance a sandbox keeps running but refuses commands; a replay still succeeds', async () => {
    const key = { 'idempotency-key': 'k' };
    const { body } = await service.call('POST', '/v1/sandboxes', {}, key);
    const exec = () => service.call('POST', `/v1/sandboxes/${body.id}/exec`, { command: 'ls' });
    await setBalance(1);
    expect((await exec()).status).toBe(200);
    await setBalance(0);
    const refused = await exec();
    expect([refused.status, refused.body.error.type]).toEqual([402, 'insufficient_credits']);
    expect((await service.call('GET', `/v1/sandboxes/${body.id}`)).body.status).toBe('running');
    expect((await service.call('POST', '/v1/sandboxes', {}, key)).status).toBe(200);
  });

  test('after credit is added, the same requests succeed', async () => {
    const { body } = await service.call('POST', '/v1/sandboxes');
    const create = () => service.call('POST', '/v1/sandboxes', {}, { 'idempotency-key': 'after-credit' });
    const exec = () => service.call('POST', `/v1/sandboxes/${body.id}/exec`, { command: 'ls' });
    await setBalance(0);
    expect([(await create()).status, (await exec()).status]).toEqual([402, 402]);
    await setBalance(1_000_000);
    expect([(await create()).status, (await exec()).status]).toEqual([201, 200]);
  });

  test('a size without a price needs no credit, neither to create nor to run commands', async () => {
    await using free = await stubService({}, { MAYFLY_PRICE_SMALL: '0' });
    const credit = { id: 'led_debit', accountId: 'acct_test', createdAtMs: 0, note: '' };
    await free.store.ledger.addCredit({ ...credit, amountMicroUsd: -100_000_000 });
    const { status, body } = await free.call('POST', '/v1/sandboxes');
    expect(status).toBe(201);
    expect((await free.call('POST', `/v1/sandboxes/${body.id}/exec`, { command: 'ls' })).status).toBe(200);
    expect((await free.call('POST', '/v1/sandboxes', { size: 'large' })).status).toBe(402);
  });

  test('an invalid request is reported before an empty balance', async () => {
    await setBalance(0);
    expect((await service.call('POST', '/v1/sandboxes', { size: 'tiny' })).status).toBe(400);
    expect((await service.call('POST', '/v1/sandboxes/sbx_none/exec', { command: 'ls' })).status).toBe(404);
  });
  test('a sandbox that is not running is reported before an empty balance', async () => {
    const [failed, deleted] = [await create(), await create()];
    await service.call('DELETE', `/v1/sandboxes/${deleted}`);
    service.driver.machines[0]?.die('killed by SIGKILL');
    await service.core.background.idle();
    await setBalance(0);
    const exec = (id: string) => service.call('POST', `/v1/sandboxes/${id}/exec`, { command: 'ls' });
    const refused = await exec(failed);
    expect([refused.status, refused.body.error.type]).toEqual([409, 'sandbox_not_running']);
    expect((await exec(deleted)).status).toBe(404);
  });
});
