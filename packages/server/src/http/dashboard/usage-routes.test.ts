import type { AccountLimitsInUse, UsageDays } from '@mayfly/contract/dashboard';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { storeSnapshot } from '../../../test/app/stored-snapshot.ts';
import { stubService } from '../../../test/app/stub-service.ts';
import { addAccount, type StubService, signedIn, TestBrowser } from '../../../test/http/browser.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

let service: StubService;
let browser: TestBrowser;
beforeEach(async () => {
  service = await stubService({}, { MAYFLY_LIMIT_FILE_BYTES: '1000000' });
  browser = await signedIn(service);
});
afterEach(() => service[Symbol.asyncDispose]());

async function usage(query = '', from = browser): Promise<UsageDays> {
  const { status, body } = await from.get(`/usage/days${query}`);
  expect(status).toBe(200);
  return body as unknown as UsageDays;
}

async function create(body: object): Promise<string> {
  return (await browser.post('/sandboxes', body)).body.id as string;
}

/** A session ends when it is not used for a week, and these tests let months pass. */
async function pass(ms: number): Promise<void> {
  service.clock.advanceMs(ms);
  browser = await signedIn(service);
}

describe('usage by day', () => {
  test('splits a run at midnight UTC, the same while it runs and once it has ended', async () => {
    await pass(22 * hourMs);
    const id = await create({ size: 'large', timeout_minutes: 1_440 });
    service.clock.advanceMs(3 * hourMs);
    const days = [
      { date: '2026-01-01', item: 'large', cost_usd: 0.4, runtime_seconds: 7_200, sandboxes: 1 },
      { date: '2026-01-02', item: 'large', cost_usd: 0.2, runtime_seconds: 3_600, sandboxes: 0 },
    ];
    expect(await usage('?days=2')).toEqual({
      object: 'usage_days',
      at: '2026-01-02T01:00:00.000Z',
      first_date: '2026-01-01',
      last_date: '2026-01-02',
      balance_usd: 99.4,
      running: [{ size: 'large', sandboxes: 1, usd_per_hour: 0.2 }],
      storage_usd_per_hour: 0,
      data: days,
    });
    await browser.delete(`/sandboxes/${id}`);
    service.clock.advanceMs(hourMs);
    expect(await usage()).toMatchObject({ balance_usd: 99.4, running: [], data: days });
    expect((await usage('?days=1')).data).toEqual(days.slice(1));
  });

  test('adds up the sandboxes of a size, and costs nothing past an expiry', async () => {
    for (const size of ['small', 'small', 'medium']) await create({ size, timeout_minutes: 60 });
    service.clock.advanceMs(2 * hourMs);
    expect(await usage()).toMatchObject({
      running: [],
      data: [
        { item: 'small', cost_usd: 0.1, runtime_seconds: 7_200, sandboxes: 2 },
        { item: 'medium', cost_usd: 0.1, runtime_seconds: 3_600, sandboxes: 1 },
      ],
    });
  });

  test('has the storage of snapshots, charged or not', async () => {
    const { snapshots } = service.store;
    const id = await create({ timeout_minutes: 5 });
    const atMs = service.clock.nowMs();
    const snapshot = {
      id: 'snap_a',
      accountId: 'acct_test',
      sandboxId: id,
      name: null,
      alias: null,
      size: 'small',
    } as const;
    const price = { priceMicroUsdPerGbMonth: 720_000_000, idempotencyKey: null, createdAtMs: atMs };
    await snapshots.insert({ ...snapshot, ...price }, () => undefined);
    await snapshots.complete('snap_a', 1024 ** 3, atMs);
    await pass(36 * hourMs);
    const storage = async () => {
      const { storage_usd_per_hour: perHour, data } = await usage();
      return [perHour, ...data.filter(({ item }) => item === 'storage').map(({ date, cost_usd }) => [date, cost_usd])];
    };
    expect(await storage()).toEqual([1, ['2026-01-01', 24], ['2026-01-02', 12]]);
    await snapshots.resize('snap_a', 2 * 1024 ** 3, service.clock.nowMs());
    expect(await storage()).toEqual([2, ['2026-01-01', 24], ['2026-01-02', 12]]);
    await snapshots.remove('snap_a', service.clock.nowMs() + hourMs);
    expect(await storage()).toEqual([0, ['2026-01-01', 24], ['2026-01-02', 14]]);
  });

  test.each(['0', '366', '1.5', 'x', ''])('refuses days=%s', async (days) => {
    expect(await browser.get(`/usage/days?days=${days}`)).toMatchObject({
      status: 400,
      body: { error: { type: 'invalid_request', message: 'days must be an integer from 1 to 365' } },
    });
  });

  test('is a period of whole days that ends today', async () => {
    await create({ timeout_minutes: 60 });
    await pass(6 * dayMs);
    expect(await usage('?days=7')).toMatchObject({ first_date: '2026-01-01', data: [{ date: '2026-01-01' }] });
    await pass(dayMs);
    expect(await usage('?days=7')).toMatchObject({ first_date: '2026-01-02', last_date: '2026-01-08', data: [] });
  });
});

describe('limits', () => {
  const limits = async (from = browser) => (await from.get('/limits')).body as unknown as AccountLimitsInUse;

  test('are the limits of the account, with what it uses of them', async () => {
    await service.store.accounts.setLimits('acct_test', { concurrentSandboxes: 3, requestsPerMinute: 7 });
    const [id] = [await create({}), await create({})];
    await browser.delete(`/sandboxes/${await create({})}`);
    await storeSnapshot(service, id);
    await service.call('GET', '/v1/account');
    service.clock.advanceMs(59_500);
    await service.call('GET', '/v1/account');
    expect(await limits()).toMatchObject({
      quotas: {
        concurrent_sandboxes: { used: 2, limit: 3 },
        snapshots: { used: 1, limit: 20 },
        snapshot_bytes: { limit: 102_400 * 1024 ** 2 },
        api_keys: { used: 1, limit: 10 },
        stored_output_bytes: { used: 0, limit: 1024 ** 3 },
        terminals: { used: 0, limit: 64 },
        streams: { used: 0, limit: 100 },
      },
      per_sandbox: { max_timeout_minutes: 1_440, file_bytes: 1_000_000 },
      windows: {
        requests: { limit: 7, remaining: 5, resets_in_seconds: 1 },
        creations: { limit: 40, remaining: 37 },
        dashboard_requests: { limit: 600 },
      },
    });
  });

  test('asking for them costs a request of the dashboard only', async () => {
    const first = await limits();
    const second = await limits();
    expect(second.windows).toEqual({
      ...first.windows,
      dashboard_requests: {
        ...first.windows.dashboard_requests,
        remaining: first.windows.dashboard_requests.remaining - 1,
      },
    });
  });
});

test('an account sees nothing of another one, and nobody anything without a session', async () => {
  const id = await create({});
  await storeSnapshot(service, id);
  service.clock.advanceMs(hourMs);
  const other = await signedIn(service, await addAccount(service, 'other'), '192.0.2.66');
  expect(await usage('', other)).toMatchObject({ balance_usd: 100, running: [], storage_usd_per_hour: 0, data: [] });
  expect((await other.get('/limits')).body).toMatchObject({
    quotas: { concurrent_sandboxes: { used: 0 }, snapshots: { used: 0 }, snapshot_bytes: { used: 0 } },
    windows: { requests: { remaining: 120 }, creations: { remaining: 40 } },
  });
  const stranger = new TestBrowser(service);
  for (const path of ['/usage/days', '/limits']) expect((await stranger.get(path)).status).toBe(401);
});
