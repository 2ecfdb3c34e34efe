import { expect, test } from 'vitest';
import { account, changed, insertRunning, newAccount, type OpenedStore } from '../fixtures.ts';

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
