import { expect, test } from 'vitest';
import { account, changed, insert, insertRunning, newAccount, type OpenedStore } from '../fixtures.ts';

const charge = { amountMicroUsd: 1_250_000, runtimeMs: 90_000, atMs: 500 };

export function describeCharges(opened: OpenedStore): void {
  const balance = async () => (await opened().ledger.funds(account.id)).settledMicroUsd;

  test('the end of a run and its charge are written together', async () => {
    const running = await insertRunning(opened(), 'sbx_a');
    await changed(opened(), running, { status: 'deleting', charge });
    expect(await opened().ledger.funds(account.id)).toEqual({ settledMicroUsd: 98_750_000, running: [], stored: [] });
  });

  test('a change whose guard does not hold charges nothing', async () => {
    const running = await insertRunning(opened(), 'sbx_a');
    const stale = { ...running, expiresAtMs: 1 };
    expect(await opened().sandboxes.change(stale, { status: 'deleting', charge })).toBeUndefined();
    expect(await balance()).toBe(100_000_000);
  });

  test('a sandbox is charged once, however it ends', async () => {
    const running = await insertRunning(opened(), 'sbx_a');
    const ends = ['deleting', 'failed', 'deleting', 'failed'] as const;
    await Promise.all(ends.map((status) => opened().sandboxes.change(running, { status, charge })));
    expect(await balance()).toBe(98_750_000);
    const ended = await opened().sandboxes.read('sbx_a');
    await changed(opened(), ended ?? running, { status: 'deleted', charge: { ...charge, amountMicroUsd: 7 } });
    expect(await balance()).toBe(98_750_000);
  });

  test('runs that end concurrently are all charged', async () => {
    const ids = Array.from({ length: 12 }, (_, index) => `sbx_${index}`);
    const running = await Promise.all(ids.map((id) => insertRunning(opened(), id)));
    await Promise.all(running.map((sandbox) => changed(opened(), sandbox, { status: 'deleting', charge })));
    expect(await balance()).toBe(100_000_000 - 12 * charge.amountMicroUsd);
  });

  test('the balance may go below zero, and other accounts are not affected', async () => {
    await opened().accounts.create(newAccount('2', { openingCreditMicroUsd: 5 }));
    const running = await insertRunning(opened(), 'sbx_a', { accountId: 'acct_2' });
    await changed(opened(), running, { status: 'failed', statusReason: 'machine_died: x', charge });
    expect((await opened().ledger.funds('acct_2')).settledMicroUsd).toBe(5 - charge.amountMicroUsd);
    expect(await balance()).toBe(100_000_000);
  });

  test('a sandbox that never ran is not charged', async () => {
    const provisioning = await insert(opened(), 'sbx_a');
    await changed(opened(), provisioning, { status: 'failed', statusReason: 'provisioning_failed: x' });
    expect((await opened().ledger.summary(account.id, 0)).spentMicroUsd).toBe(0);
  });
}
