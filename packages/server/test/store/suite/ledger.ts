import { expect, test } from 'vitest';
import { account, changed, insertRunning, newAccount, newSnapshot, type OpenedStore } from '../fixtures.ts';

const dayMs = 86_400_000;

export function describeLedger(opened: OpenedStore): void {
  test('the balance is the opening credit plus what was added, minus what was withdrawn', async () => {
    const { ledger, accounts } = opened();
    expect(await ledger.funds(account.id)).toEqual({ settledMicroUsd: 100_000_000, running: [], stored: [] });
    await accounts.create(newAccount('2'));
    expect(await ledger.funds('acct_2')).toEqual({ settledMicroUsd: 0, running: [], stored: [] });
    const credit = { accountId: 'acct_2', createdAtMs: 5, note: 'bought' };
    await ledger.addCredit({ ...credit, id: 'c1', amountMicroUsd: 10_000_000 });
    await ledger.addCredit({ ...credit, id: 'c2', amountMicroUsd: -3_000_000 });
    expect((await ledger.funds('acct_2')).settledMicroUsd).toBe(7_000_000);
    expect((await ledger.funds(account.id)).settledMicroUsd).toBe(100_000_000);
  });

  test('concurrent credits all count', async () => {
    const added = Array.from({ length: 20 }, (_, index) =>
      opened().ledger.addCredit({
        id: `c${index}`,
        accountId: account.id,
        amountMicroUsd: 1,
        createdAtMs: 5,
        note: '',
      }),
    );
    await Promise.all(added);
    expect((await opened().ledger.funds(account.id)).settledMicroUsd).toBe(100_000_020);
  });

  test('an unknown account is an error', async () => {
    const credit = { id: 'c', accountId: 'acct_x', amountMicroUsd: 1, createdAtMs: 5, note: '' };
    await expect(opened().ledger.addCredit(credit)).rejects.toThrow();
    await expect(opened().ledger.funds('acct_x')).rejects.toThrow('acct_x');
  });

  test('a summary covers a period, and lists the running sandboxes', async () => {
    const { ledger } = opened();
    for (const [index, createdAtMs] of [900, 1000, 1001].entries()) {
      const running = await insertRunning(opened(), `sbx_${index}`, { createdAtMs });
      const charge = { amountMicroUsd: 10 ** index, runtimeMs: 5 * 10 ** index, atMs: createdAtMs };
      await changed(opened(), running, { status: 'deleting', charge });
    }
    const running = await insertRunning(opened(), 'sbx_now', { createdAtMs: 2000, priceMicroUsdPerHour: 200_000 });
    await ledger.addCredit({ id: 'c1', accountId: account.id, amountMicroUsd: 500, createdAtMs: 1000, note: '' });
    await ledger.addCredit({ id: 'c2', accountId: account.id, amountMicroUsd: -20, createdAtMs: 1500, note: '' });
    expect(await ledger.summary(account.id, 1000)).toEqual({
      settledMicroUsd: 100_000_000 + 480 - 111,
      running: [{ readyAtMs: running.readyAtMs, expiresAtMs: 2e12, priceMicroUsdPerHour: 200_000 }],
      stored: [],
      spentMicroUsd: 110,
      storageMicroUsd: 0,
      addedMicroUsd: 480,
      runtimeMs: 550,
      sandboxesCreated: 3,
    });
  });

  test('an empty summary is zero, not minus zero', async () => {
    expect(await opened().ledger.summary(account.id, 5)).toStrictEqual({
      settledMicroUsd: 100_000_000,
      running: [],
      stored: [],
      spentMicroUsd: 0,
      storageMicroUsd: 0,
      addedMicroUsd: 0,
      runtimeMs: 0,
      sandboxesCreated: 0,
    });
  });

  test('amounts are exact up to nine billion dollars', async () => {
    const amountMicroUsd = Number.MAX_SAFE_INTEGER - 100_000_000;
    await opened().ledger.addCredit({ id: 'c', accountId: account.id, amountMicroUsd, createdAtMs: 5, note: '' });
    expect(await opened().ledger.summary(account.id, 0)).toMatchObject({
      settledMicroUsd: Number.MAX_SAFE_INTEGER,
      addedMicroUsd: Number.MAX_SAFE_INTEGER,
    });
  });

  test('days have what was charged for them, by size, split at midnight', async () => {
    const { ledger } = opened();
    const end = async (
      id: string,
      size: 'small' | 'large',
      fromMs: number,
      runtimeMs: number,
      amountMicroUsd: number,
    ) => {
      const running = await insertRunning(opened(), id, { size, createdAtMs: fromMs - 1 });
      const charge = { amountMicroUsd, runtimeMs, atMs: fromMs + runtimeMs + 99 };
      await changed(opened(), running, { status: 'deleting', charge });
    };
    // In the order of creation, because creation times of an account only grow.
    await end('sbx_d', 'small', 9 * dayMs, 1_000, 1);
    await end('sbx_a', 'small', 10 * dayMs, 1_000, 5);
    await end('sbx_b', 'small', 10 * dayMs + 7_000, 500, 3);
    await end('sbx_c', 'large', 11 * dayMs - 1_000, 4_000, 40);
    await opened().accounts.create(newAccount('2'));
    await insertRunning(opened(), 'sbx_other', { accountId: 'acct_2' });
    await ledger.addCredit({ id: 'c1', accountId: account.id, amountMicroUsd: 500, createdAtMs: 10 * dayMs, note: '' });
    const day = { amountMicroUsd: 10, runtimeMs: 1_000, sandboxes: 1 };
    const { days, ...funds } = await ledger.days(account.id, 10);
    expect(days.toSorted((one, other) => one.day - other.day || one.item.localeCompare(other.item))).toEqual([
      { day: 10, item: 'large', ...day },
      { day: 10, item: 'small', amountMicroUsd: 8, runtimeMs: 1_500, sandboxes: 2 },
      { day: 11, item: 'large', amountMicroUsd: 30, runtimeMs: 3_000, sandboxes: 0 },
    ]);
    expect(funds).toEqual(await ledger.funds(account.id));
    expect((await ledger.days(account.id, 12)).days).toEqual([]);
    await expect(ledger.days('acct_x', 0)).rejects.toThrow('acct_x');
  });

  test('days come with the running sandboxes, their sizes, and the stored snapshots', async () => {
    const { ledger, snapshots } = opened();
    await insertRunning(opened(), 'sbx_now', { size: 'medium', priceMicroUsdPerHour: 7 });
    await snapshots.insert(newSnapshot('snap_a', 'sbx_now', { priceMicroUsdPerGbMonth: 30_000 }), () => undefined);
    await snapshots.complete('snap_a', 1024 ** 3, 20 * dayMs);
    const { running, ...rest } = await ledger.days(account.id, 0);
    expect(running).toEqual([
      { size: 'medium', readyAtMs: 1_790_000_000_001, expiresAtMs: 2e12, priceMicroUsdPerHour: 7 },
    ]);
    const { stored, settledMicroUsd } = await ledger.funds(account.id);
    expect(rest).toEqual({ stored, settledMicroUsd, days: [] });
    await snapshots.remove('snap_a', 21.5 * dayMs);
    expect((await ledger.days(account.id, 0)).days.toSorted((one, other) => one.day - other.day)).toEqual([
      { day: 20, item: 'storage', amountMicroUsd: 1_000, runtimeMs: 0, sandboxes: 0 },
      { day: 21, item: 'storage', amountMicroUsd: 500, runtimeMs: 0, sandboxes: 0 },
    ]);
  });

  test('days add up to the summary, also when runs end concurrently and more than once', async () => {
    const ids = Array.from({ length: 12 }, (_, index) => `sbx_${index}`);
    const running = await Promise.all(ids.map((id) => insertRunning(opened(), id)));
    const charge = { amountMicroUsd: 1_000_003, runtimeMs: 2 * dayMs, atMs: 1 };
    const ends = [...running, ...running].map((sandbox) =>
      opened().sandboxes.change(sandbox, { status: 'deleting', charge }),
    );
    await Promise.all(ends);
    const { days } = await opened().ledger.days(account.id, 0);
    const sum = (field: 'amountMicroUsd' | 'runtimeMs' | 'sandboxes') =>
      days.reduce((total, day) => total + day[field], 0);
    const { spentMicroUsd, runtimeMs } = await opened().ledger.summary(account.id, 0);
    expect([sum('amountMicroUsd'), sum('runtimeMs'), sum('sandboxes')]).toEqual([spentMicroUsd, runtimeMs, 12]);
  });

  test('a summary read while runs end is consistent: each run is either running or charged', async () => {
    const ids = Array.from({ length: 20 }, (_, index) => `sbx_${index}`);
    const running = await Promise.all(ids.map((id) => insertRunning(opened(), id)));
    const charge = { amountMicroUsd: 1, runtimeMs: 1, atMs: 1 };
    const ends = running.map((sandbox) => changed(opened(), sandbox, { status: 'deleting', charge }));
    const reads = ids.map(async () => {
      const { settledMicroUsd, running: still, spentMicroUsd } = await opened().ledger.summary(account.id, 0);
      return [settledMicroUsd - still.length, still.length + spentMicroUsd];
    });
    for (const sums of await Promise.all(reads)) expect(sums).toEqual([100_000_000 - 20, 20]);
    await Promise.all(ends);
  });
}
