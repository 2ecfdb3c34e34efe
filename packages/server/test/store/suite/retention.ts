import { expect, test } from 'vitest';
import { account, admitAll, changed, insert, insertRunning, newSnapshot, type OpenedStore } from '../fixtures.ts';

const nothing = Buffer.alloc(0);
const end = { status: 'completed', exitCode: 0, truncated: false, oomKilled: false, durationMs: 1 } as const;
const output = { stdout: nothing, stderr: nothing };

export function describeRetention(opened: OpenedStore): void {
  test('old records are removed in batches; live sandboxes and the ledger stay', async () => {
    const { sandboxes, executions, retention, ledger } = opened();
    for (const id of ['sbx_old', 'sbx_live']) {
      await insert(opened(), id, { createdAtMs: 1_000 });
      for (const number of [1, 2, 3]) {
        const execution = `exec_${id.slice(4)}${number}`;
        await executions.insert({
          id: execution,
          accountId: account.id,
          sandboxId: id,
          startedAtMs: 1_000,
          isLive: false,
        });
        if (id === 'sbx_old')
          await executions.finish(execution, { ...end, ...output, finishedAtMs: 2_000, writtenBytes: null });
      }
    }
    const ready = { status: 'running', readyAtMs: 1_000, expiresAtMs: 9_000 } as const;
    await sandboxes.change({ id: 'sbx_old', status: 'provisioning', machineId: null, expiresAtMs: null }, ready);
    const charge = { amountMicroUsd: 5, runtimeMs: 7, atMs: 2_000 };
    const deleted = { status: 'deleted', deletedAtMs: 2_000, charge } as const;
    await sandboxes.change({ id: 'sbx_old', status: 'running', machineId: null, expiresAtMs: 9_000 }, deleted);
    const before = await ledger.summary(account.id, 0);

    expect(await retention.removeSandboxes(5_000, 10)).toBe(0);
    expect(await retention.removeExecutions(2_000, 10)).toBe(0);
    expect(await retention.removeExecutions(2_001, 2)).toBe(2);
    expect(await retention.removeExecutions(2_001, 2)).toBe(1);
    expect(await retention.removeSandboxes(1_000, 10)).toBe(0);
    expect(await retention.removeSandboxes(5_000, 10)).toBe(1);
    expect(await sandboxes.read('sbx_old')).toBeUndefined();
    expect(await sandboxes.read('sbx_live')).toBeDefined();
    expect(await executions.running()).toHaveLength(3);
    expect(await ledger.summary(account.id, 0)).toEqual(before);
  });

  test('a removed sandbox counts in the period in which it was created, not in which it ended', async () => {
    const { retention, ledger } = opened();
    const running = await insertRunning(opened(), 'sbx_long', { createdAtMs: 1_000 });
    const charge = { amountMicroUsd: 5, runtimeMs: 1_499, atMs: 2_500 };
    const deleting = await changed(opened(), running, { status: 'deleting', charge });
    await changed(opened(), deleting, { status: 'deleted', deletedAtMs: 2_500 });
    const createdSince = async (sinceMs: number) => (await ledger.summary(account.id, sinceMs)).sandboxesCreated;
    const before = [await createdSince(1_000), await createdSince(1_001)];
    expect(await retention.removeSandboxes(5_000, 10)).toBe(1);
    expect([await createdSince(1_000), await createdSince(1_001)]).toEqual(before);
    expect(before).toEqual([1, 0]);
  });

  test('the record of a sandbox stays for as long as there is a snapshot or a copy of it', async () => {
    const { sandboxes, snapshots, retention } = opened();
    const origin = { sandboxId: 'sbx_first', atMs: 1_001, snapshotId: 'snap_1' };
    await insert(opened(), 'sbx_first', { createdAtMs: 1_000 });
    await insert(opened(), 'sbx_copy', { createdAtMs: 1_100, origin });
    await snapshots.insert(newSnapshot('snap_2', 'sbx_copy'), admitAll);
    for (const id of ['sbx_first', 'sbx_copy']) {
      const guard = { id, status: 'provisioning', machineId: null, expiresAtMs: null } as const;
      await sandboxes.change(guard, { status: 'deleted', deletedAtMs: 9 });
    }
    expect(await retention.removeSandboxes(5_000, 10)).toBe(0);
    await snapshots.remove('snap_2', 6_000);
    expect(await retention.removeSandboxes(5_000, 10)).toBe(1);
    expect((await sandboxes.read('sbx_first'))?.status).toBe('deleted');
    expect(await retention.removeSandboxes(5_000, 10)).toBe(1);
  });

  test('a database belongs to the first data folder', async () => {
    expect(await opened().owner.belongsTo('first')).toBe(true);
    expect(await opened().owner.belongsTo('second')).toBe(false);
    expect(await opened().owner.belongsTo('first')).toBe(true);
  });

  test('the time when the service was last alive is recorded', async () => {
    const { owner } = opened();
    await owner.belongsTo('first');
    expect(await owner.lastAliveMs()).toBeNull();
    await owner.noteAlive(1_790_000_000_000);
    await owner.noteAlive(1_790_000_000_001);
    expect(await owner.lastAliveMs()).toBe(1_790_000_000_001);
  });
}
