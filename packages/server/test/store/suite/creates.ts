import { expect, test } from 'vitest';
import type { AdmissionFacts } from '../../../src/core/ports/store/sandbox-store.ts';
import {
  account,
  admitAll,
  changed,
  insert,
  insertRunning,
  newAccount,
  newSandbox,
  type OpenedStore,
  sandboxIn,
} from '../fixtures.ts';

export function describeCreates(opened: OpenedStore): void {
  test('a new sandbox is provisioning and visible only to its account', async () => {
    const { sandboxes } = opened();
    const outcome = await sandboxes.insert(newSandbox('sbx_a', { name: 'grüße 🦋' }), admitAll);
    expect(outcome).toEqual({
      kind: 'inserted',
      sandbox: {
        ...newSandbox('sbx_a', { name: 'grüße 🦋' }),
        status: 'provisioning',
        statusReason: null,
        machineId: null,
        origin: null,
        readyAtMs: null,
        expiresAtMs: null,
        endedAtMs: null,
        deletedAtMs: null,
      },
    });
    expect(await sandboxes.find(account.id, 'sbx_a')).toEqual(sandboxIn(outcome));
    expect(await sandboxes.find('acct_2', 'sbx_a')).toBeUndefined();
  });

  test('creation times differ, so that pages neither skip nor repeat', async () => {
    const ids = Array.from({ length: 30 }, (_, index) => `sbx_${index}`);
    await Promise.all(ids.map((id) => insert(opened(), id)));
    const seen: string[] = [];
    let beforeMs: number | undefined;
    // A page that repeats would go on forever.
    while (seen.length <= ids.length) {
      const page = await opened().sandboxes.list(account.id, { limit: 7, beforeMs, includeDeleted: false });
      if (page.length === 0) break;
      seen.push(...page.map(({ id }) => id));
      beforeMs = page.at(-1)?.createdAtMs;
    }
    expect(seen).toHaveLength(30);
    expect(new Set(seen)).toEqual(new Set(ids));
  });

  test('the same idempotency key returns the first sandbox, even concurrently, until it is freed', async () => {
    const { sandboxes } = opened();
    const keyed = (id: string) => newSandbox(id, { idempotencyKey: 'k' });
    const both = await Promise.all(['sbx_a', 'sbx_b'].map((id) => sandboxes.insert(keyed(id), admitAll)));
    expect(both.map(({ kind }) => kind).toSorted()).toEqual(['inserted', 'replayed']);
    const first = sandboxIn(both[0]);
    expect(sandboxIn(both[1]).id).toBe(first.id);
    await changed(opened(), first, { status: 'failed', idempotencyKey: null });
    expect((await sandboxes.insert(keyed('sbx_c'), admitAll)).kind).toBe('inserted');
  });

  test('an idempotency key belongs to its account', async () => {
    await opened().accounts.create(newAccount('2'));
    await insert(opened(), 'sbx_a', { idempotencyKey: 'k' });
    const other = newSandbox('sbx_b', { idempotencyKey: 'k', accountId: 'acct_2' });
    expect((await opened().sandboxes.insert(other, admitAll)).kind).toBe('inserted');
  });

  test('a replay is not subject to admission', async () => {
    await insert(opened(), 'sbx_a', { idempotencyKey: 'k' });
    const again = await opened().sandboxes.insert(newSandbox('sbx_b', { idempotencyKey: 'k' }), () => 'full');
    expect(again).toMatchObject({ kind: 'replayed', sandbox: { id: 'sbx_a' } });
  });

  test('of thirty concurrent creates at a limit of twenty, twenty succeed and ten are refused', async () => {
    const admit = ({ openSandboxes }: AdmissionFacts) => (openSandboxes >= 20 ? 'full' : undefined);
    const outcomes = await Promise.all(
      Array.from({ length: 30 }, (_, index) => opened().sandboxes.insert(newSandbox(`sbx_${index}`), admit)),
    );
    expect(outcomes.filter(({ kind }) => kind === 'inserted')).toHaveLength(20);
    expect(outcomes.filter(({ kind }) => kind === 'refused')).toHaveLength(10);
    const kept = await opened().sandboxes.list(account.id, { limit: 100, includeDeleted: true });
    expect(kept).toHaveLength(20);
  });

  test('admission sees the balance, the running sandboxes and the number of open ones', async () => {
    await insert(opened(), 'sbx_a');
    const running = await insertRunning(opened(), 'sbx_b', { priceMicroUsdPerHour: 70_000 });
    const ended = await insertRunning(opened(), 'sbx_c');
    const charge = { amountMicroUsd: 1_000_000, runtimeMs: 5, atMs: 6 };
    await changed(opened(), ended, { status: 'deleting', charge });
    await opened().accounts.create(newAccount('2'));
    await insertRunning(opened(), 'sbx_d', { accountId: 'acct_2' });
    let seen: AdmissionFacts | undefined;
    const refused = await opened().sandboxes.insert(newSandbox('sbx_e'), (facts) => {
      seen = facts;
      return { status: 402 };
    });
    expect(refused).toEqual({ kind: 'refused', refusal: { status: 402 } });
    expect(seen).toEqual({
      suspended: false,
      settledMicroUsd: 99_000_000,
      running: [{ readyAtMs: running.readyAtMs, expiresAtMs: 2e12, priceMicroUsdPerHour: 70_000 }],
      stored: [],
      openSandboxes: 2,
    });
    expect(await opened().sandboxes.read('sbx_e')).toBeUndefined();
  });

  test('a create whose admission throws stores nothing and blocks no other create', async () => {
    const failing = opened().sandboxes.insert(newSandbox('sbx_a'), () => {
      throw new Error('broken');
    });
    await expect(failing).rejects.toThrow('broken');
    expect(await opened().sandboxes.read('sbx_a')).toBeUndefined();
    expect((await insert(opened(), 'sbx_b')).status).toBe('provisioning');
  });
}
