import { expect, test } from 'vitest';
import type { NewSnapshot, SnapshotFacts, SnapshotRecord } from '../../../src/core/ports/store/snapshot-store.ts';
import { account, admitAll, insert, insertRunning, newAccount, newSnapshot, type OpenedStore } from '../fixtures.ts';

const gibibyte = 1024 ** 3;
const dayMs = 86_400_000;
const atMs = 1_790_000_000_000;

export function describeSnapshots(opened: OpenedStore): void {
  /** Inserts a snapshot of a sandbox, which is created if there is none. */
  async function take(id: string, more: Partial<NewSnapshot> = {}, sandboxId = 'sbx_a'): Promise<SnapshotRecord> {
    if ((await opened().sandboxes.read(sandboxId)) === undefined) {
      await insert(opened(), sandboxId, { accountId: more.accountId ?? account.id });
    }
    const outcome = await opened().snapshots.insert(newSnapshot(id, sandboxId, more), admitAll);
    if (outcome.kind === 'refused') throw new Error('refused');
    return outcome.snapshot;
  }

  test('a new snapshot is creating, visible only to its account, and ready once it is complete', async () => {
    const { snapshots } = opened();
    const taken = await take('snap_a', { name: 'grüße 🦋', alias: 'web' });
    expect(taken).toEqual({
      ...newSnapshot('snap_a', 'sbx_a', { name: 'grüße 🦋', alias: 'web' }),
      status: 'creating',
      bytes: 0,
      chargedUntilMs: atMs,
    });
    expect(await snapshots.find(account.id, 'snap_a')).toEqual(taken);
    expect(await snapshots.find('acct_2', 'snap_a')).toBeUndefined();
    expect(await snapshots.findByAlias(account.id, 'web')).toBeUndefined();
    const ready = await snapshots.complete('snap_a', 7e9, atMs + 5);
    expect(ready).toEqual({ ...taken, status: 'ready', bytes: 7e9, chargedUntilMs: atMs + 5 });
    expect(await snapshots.findByAlias(account.id, 'web')).toEqual(ready);
    expect(await snapshots.findByAlias('acct_2', 'web')).toBeUndefined();
    expect(await snapshots.complete('snap_a', 1, atMs + 6)).toBeUndefined();
  });

  test('creation times differ, and pages are newest first', async () => {
    await Promise.all([1, 2, 3, 4, 5].map((number) => take(`snap_${number}`, {}, `sbx_${number}`)));
    const all = await opened().snapshots.list(account.id, { limit: 10 });
    expect(new Set(all.map(({ createdAtMs }) => createdAtMs)).size).toBe(5);
    const rest = await opened().snapshots.list(account.id, { limit: 2, beforeMs: all[1]?.createdAtMs });
    expect(rest).toEqual(all.slice(2, 4));
    expect(await opened().snapshots.all()).toEqual(all.toReversed());
  });

  test('the same idempotency key returns the first snapshot, even concurrently, until that is removed', async () => {
    await insert(opened(), 'sbx_a');
    const { snapshots } = opened();
    const keyed = (id: string) => newSnapshot(id, 'sbx_a', { idempotencyKey: 'k' });
    const both = await Promise.all(['snap_a', 'snap_b'].map((id) => snapshots.insert(keyed(id), admitAll)));
    expect(both.map(({ kind }) => kind).toSorted()).toEqual(['inserted', 'replayed']);
    const replayed = await snapshots.insert(keyed('snap_c'), () => 'full');
    if (replayed.kind !== 'replayed') throw new Error('not replayed');
    expect(await snapshots.remove(replayed.snapshot.id, atMs)).toMatchObject({ changed: true, chargedMicroUsd: 0 });
    expect((await snapshots.insert(keyed('snap_d'), admitAll)).kind).toBe('inserted');
  });

  test('admission sees the balance, the number of snapshots, their bytes, and whether the alias is taken', async () => {
    const running = await insertRunning(opened(), 'sbx_a');
    await take('snap_a', { alias: 'web' });
    await opened().snapshots.complete('snap_a', 500, atMs);
    await take('snap_b');
    await opened().accounts.create(newAccount('2'));
    await take('snap_c', { accountId: 'acct_2', alias: 'db' }, 'sbx_c');
    let seen: SnapshotFacts | undefined;
    const factsFor = async (alias: string) => {
      const outcome = await opened().snapshots.insert(newSnapshot('snap_d', 'sbx_a', { alias }), (facts) => {
        seen = facts;
        return 'no';
      });
      expect(outcome).toEqual({ kind: 'refused', refusal: 'no' });
      return seen;
    };
    expect(await factsFor('web')).toEqual({
      suspended: false,
      settledMicroUsd: 100_000_000,
      running: [{ readyAtMs: running.readyAtMs, expiresAtMs: 2e12, priceMicroUsdPerHour: 50_000 }],
      stored: [],
      snapshots: 2,
      storedBytes: 500,
      aliasTaken: true,
    });
    expect((await factsFor('db'))?.aliasTaken).toBe(false);
    expect(await opened().snapshots.find(account.id, 'snap_d')).toBeUndefined();
  });

  test('of thirty concurrent requests at a limit of twenty, twenty succeed', async () => {
    await insert(opened(), 'sbx_a');
    const admit = ({ snapshots }: SnapshotFacts) => (snapshots >= 20 ? 'full' : undefined);
    const outcomes = await Promise.all(
      Array.from({ length: 30 }, (_, index) => opened().snapshots.insert(newSnapshot(`snap_${index}`, 'sbx_a'), admit)),
    );
    expect(outcomes.filter(({ kind }) => kind === 'inserted')).toHaveLength(20);
    expect(await opened().snapshots.all()).toHaveLength(20);
  });

  test('storage is charged when the size changes, when the files are lost, and when the snapshot is removed', async () => {
    const { snapshots, ledger } = opened();
    await take('snap_a', { priceMicroUsdPerGbMonth: 30_000, alias: 'web', idempotencyKey: 'k' });
    await snapshots.complete('snap_a', gibibyte, atMs);
    const stored = { bytes: gibibyte, chargedUntilMs: atMs, priceMicroUsdPerGbMonth: 30_000 };
    expect(await ledger.funds(account.id)).toEqual({ settledMicroUsd: 100_000_000, running: [], stored: [stored] });

    const resized = await snapshots.resize('snap_a', 2 * gibibyte, atMs + dayMs);
    expect(resized).toMatchObject({ changed: true, chargedMicroUsd: 1_000 });
    expect(await ledger.summary(account.id, 0)).toMatchObject({
      settledMicroUsd: 99_999_000,
      stored: [{ bytes: 2 * gibibyte, chargedUntilMs: atMs + dayMs, priceMicroUsdPerGbMonth: 30_000 }],
      spentMicroUsd: 1_000,
      storageMicroUsd: 1_000,
    });
    expect((await snapshots.fail('snap_a', atMs + 2 * dayMs)).chargedMicroUsd).toBe(2_000);
    const freed = { status: 'failed', bytes: 0, alias: null, idempotencyKey: null };
    expect(await snapshots.find(account.id, 'snap_a')).toMatchObject(freed);
    expect(await snapshots.fail('snap_a', atMs + 3 * dayMs)).toEqual({ changed: false, chargedMicroUsd: 0 });
    expect(await snapshots.remove('snap_a', atMs + 9 * dayMs)).toMatchObject({ changed: true, chargedMicroUsd: 0 });
    expect(await snapshots.remove('snap_a', atMs + 9 * dayMs)).toEqual({ changed: false, chargedMicroUsd: 0 });
    expect(await ledger.summary(account.id, atMs + 2 * dayMs)).toMatchObject({
      settledMicroUsd: 99_997_000,
      stored: [],
      spentMicroUsd: 2_000,
      storageMicroUsd: 2_000,
    });
  });

  test('concurrent charges cover every moment once, and a clock that was set back charges nothing twice', async () => {
    const { snapshots, ledger } = opened();
    await take('snap_a', { priceMicroUsdPerGbMonth: 30_000_000 });
    await snapshots.complete('snap_a', gibibyte, atMs);
    const times = [5, 2, 4, 1, 3].map((days) => atMs + days * dayMs);
    await Promise.all(times.map((nowMs) => snapshots.resize('snap_a', gibibyte, nowMs)));
    await snapshots.resize('snap_a', gibibyte, atMs);
    await Promise.all([6, 6].map((days) => snapshots.remove('snap_a', atMs + days * dayMs)));
    expect((await ledger.funds(account.id)).settledMicroUsd).toBe(100_000_000 - 6 * 1_000_000);
  });

  test('a snapshot that is creating has no size, and removing it costs nothing', async () => {
    await take('snap_a', { priceMicroUsdPerGbMonth: 30_000 });
    expect((await opened().snapshots.resize('snap_a', gibibyte, atMs)).changed).toBe(false);
    expect(await opened().snapshots.remove('snap_a', atMs + 9 * dayMs)).toMatchObject({
      changed: true,
      chargedMicroUsd: 0,
    });
  });

  test('they are counted by status', async () => {
    for (const id of ['snap_a', 'snap_b', 'snap_c']) await take(id);
    await opened().snapshots.complete('snap_a', gibibyte, atMs);
    await opened().snapshots.complete('snap_b', 5 * gibibyte, atMs);
    const counts = await opened().snapshots.countByStatus();
    expect(counts).toHaveLength(2);
    expect(counts).toContainEqual({ status: 'ready', count: 2, bytes: 6 * gibibyte });
    expect(counts).toContainEqual({ status: 'creating', count: 1, bytes: 0 });
  });

  test('a sandbox keeps what it was copied from', async () => {
    const origin = { sandboxId: 'sbx_a', atMs, snapshotId: 'snap_a' };
    await insert(opened(), 'sbx_b', { origin });
    await insert(opened(), 'sbx_c', { origin: { ...origin, snapshotId: null } });
    expect((await opened().sandboxes.read('sbx_b'))?.origin).toEqual(origin);
    expect((await opened().sandboxes.find(account.id, 'sbx_c'))?.origin).toEqual({ ...origin, snapshotId: null });
  });
}
