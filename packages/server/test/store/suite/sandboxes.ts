import { expect, test } from 'vitest';
import { account, changed, insert, insertRunning, newAccount, type OpenedStore } from '../fixtures.ts';

export function describeSandboxes(opened: OpenedStore): void {
  test('a change is written only if the status is unchanged', async () => {
    const provisioning = await insert(opened(), 'sbx_a');
    const running = { status: 'running', readyAtMs: 5, expiresAtMs: 10 } as const;
    expect(await opened().sandboxes.change(provisioning, running)).toEqual({ ...provisioning, ...running });
    expect(await opened().sandboxes.change(provisioning, { status: 'failed' })).toBeUndefined();
    expect(await opened().sandboxes.read('sbx_a')).toMatchObject(running);
  });

  test('a change is written only if the expiry is unchanged', async () => {
    const running = await insertRunning(opened(), 'sbx_a');
    const extended = { status: 'running', timeoutMinutes: 30, expiresAtMs: 3e12 } as const;
    expect(await opened().sandboxes.change(running, extended)).toEqual({ ...running, ...extended });
    expect(await opened().sandboxes.change(running, { status: 'deleting' })).toBeUndefined();
    const wrong = { ...running, expiresAtMs: null };
    expect(await opened().sandboxes.change(wrong, { status: 'deleting' })).toBeUndefined();
    const replaced = { ...running, ...extended, machineId: 'another' };
    expect(await opened().sandboxes.change(replaced, { status: 'failed' })).toBeUndefined();
    expect(await opened().sandboxes.read('sbx_a')).toMatchObject(extended);
  });

  test('the end of a sandbox is stored, and a later delete keeps it', async () => {
    const running = await insertRunning(opened(), 'sbx_a');
    expect(running.endedAtMs).toBeNull();
    const failed = await changed(opened(), running, { status: 'failed', endedAtMs: 1_790_000_000_007 });
    expect(failed).toMatchObject({ endedAtMs: 1_790_000_000_007, deletedAtMs: null });
    await changed(opened(), failed, { status: 'deleted', deletedAtMs: 1_790_000_000_009 });
    const ended = { endedAtMs: 1_790_000_000_007, deletedAtMs: 1_790_000_000_009 };
    expect(await opened().sandboxes.read('sbx_a')).toMatchObject(ended);
  });

  test('a NUL in text finds nothing and does not fail a change', async () => {
    const provisioning = await insert(opened(), 'sbx_a');
    expect(await opened().sandboxes.find(account.id, 'sbx_\0')).toBeUndefined();
    expect(await opened().sandboxes.find(account.id, 'sbx_a\0')).toBeUndefined();
    const failed = await changed(opened(), provisioning, { status: 'failed', statusReason: 'broken:\0!' });
    expect(failed.statusReason).toMatch(/^broken:.!$/);
  });

  test('of concurrent extensions one is written', async () => {
    const running = await insertRunning(opened(), 'sbx_a');
    const written = await Promise.all(
      [1, 2, 3].map((more) =>
        opened().sandboxes.change(running, { status: 'running', expiresAtMs: (running.expiresAtMs ?? 0) + more }),
      ),
    );
    expect(written.filter((sandbox) => sandbox !== undefined)).toHaveLength(1);
  });

  test('sandboxes that have not ended are counted by status and size, over all accounts', async () => {
    const { sandboxes } = opened();
    expect(await sandboxes.countByStatus()).toEqual([]);
    await opened().accounts.create(newAccount('2'));
    await insertRunning(opened(), 'sbx_a');
    await insertRunning(opened(), 'sbx_b', { accountId: 'acct_2' });
    await insert(opened(), 'sbx_c', { size: 'large' });
    await changed(opened(), await insert(opened(), 'sbx_d'), { status: 'deleting' });
    await changed(opened(), await insert(opened(), 'sbx_e'), { status: 'failed' });
    const counts = (await sandboxes.countByStatus()).map(({ status, size, count }) => `${status} ${size} ${count}`);
    expect(counts.toSorted()).toEqual(['deleting small 1', 'provisioning large 1', 'running small 2']);
  });

  test('sandboxes are found by expiry and status, and deleted ones are left out of the list', async () => {
    const [a, b, c] = [
      await insert(opened(), 'sbx_a'),
      await insert(opened(), 'sbx_b'),
      await insert(opened(), 'sbx_c'),
    ];
    await changed(opened(), a, { status: 'running', expiresAtMs: 10 });
    await changed(opened(), b, { status: 'running', expiresAtMs: 11 });
    await changed(opened(), c, { status: 'deleted', deletedAtMs: 1, statusReason: 'expired' });
    const { sandboxes } = opened();
    expect((await sandboxes.expired(10)).map(({ id }) => id)).toEqual(['sbx_a']);
    expect((await sandboxes.withStatus(['running'])).map(({ id }) => id).toSorted()).toEqual(['sbx_a', 'sbx_b']);
    const listed = async (includeDeleted: boolean) =>
      (await sandboxes.list(account.id, { limit: 10, includeDeleted })).map(({ id }) => id);
    expect(await listed(false)).toEqual(['sbx_b', 'sbx_a']);
    expect(await listed(true)).toEqual(['sbx_c', 'sbx_b', 'sbx_a']);
  });
}
