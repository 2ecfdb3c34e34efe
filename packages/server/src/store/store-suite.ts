import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { NewAccount, NewSandbox, Store } from '../core/ports/store.ts';

const account: NewAccount = {
  id: 'acct_1',
  email: 'a@localhost',
  openingCreditMicroUsd: 100_000_000,
  createdAtMs: 1,
  key: { id: 'key_1', hash: 'hash', prefix: 'mf_' },
};

const sandbox = (id: string, more: Partial<NewSandbox> = {}): NewSandbox => ({
  id,
  accountId: account.id,
  name: null,
  size: 'small',
  timeoutMinutes: 15,
  idempotencyKey: null,
  createdAtMs: 1_790_000_000_000,
  ...more,
});

/** What every engine's store does. `open` gives an empty one each time. */
export function describeStore(engine: string, open: () => Promise<Store>): void {
  describe(`the store over ${engine}`, () => {
    let store: Store;
    beforeEach(async () => {
      store = await open();
      await store.accounts.createFirst(account);
    });
    afterEach(() => store.close());

    test('the first account is made once, and is found by its key', async () => {
      expect(await store.accounts.createFirst({ ...account, id: 'acct_2', email: 'b@localhost' })).toBe(false);
      const owner = await store.accounts.findByKeyHash('hash');
      expect(owner).toMatchObject({ account: { id: 'acct_1', suspended: false }, keyId: 'key_1', revokedAtMs: null });
      expect(await store.accounts.findByKeyHash('other')).toBeUndefined();
    });

    test('a new sandbox is provisioning and nobody else’s', async () => {
      const { kind, sandbox: kept } = await store.sandboxes.insert(sandbox('sbx_a', { name: 'grüße 🦋' }));
      expect(kind).toBe('inserted');
      expect(kept).toMatchObject({ status: 'provisioning', name: 'grüße 🦋', readyAtMs: null, statusReason: null });
      expect(await store.sandboxes.find(account.id, 'sbx_a')).toEqual(kept);
      expect(await store.sandboxes.find('acct_2', 'sbx_a')).toBeUndefined();
    });

    test('creation times differ, so that pages neither skip nor repeat', async () => {
      const ids = Array.from({ length: 30 }, (_, index) => `sbx_${index}`);
      await Promise.all(ids.map((id) => store.sandboxes.insert(sandbox(id))));
      const seen: string[] = [];
      let beforeMs: number | undefined;
      for (;;) {
        const page = await store.sandboxes.list(account.id, { limit: 7, beforeMs, includeDeleted: false });
        if (page.length === 0) break;
        seen.push(...page.map(({ id }) => id));
        beforeMs = page.at(-1)?.createdAtMs;
      }
      expect(seen).toHaveLength(30);
      expect(new Set(seen)).toEqual(new Set(ids));
    });

    test('the same idempotency key gives the first sandbox, until it is freed', async () => {
      const both = await Promise.all(
        ['sbx_a', 'sbx_b'].map((id) => store.sandboxes.insert(sandbox(id, { idempotencyKey: 'k' }))),
      );
      expect(both.map(({ kind }) => kind).toSorted()).toEqual(['inserted', 'replayed']);
      const first = both[0]?.sandbox.id ?? '';
      expect(both[1]?.sandbox.id).toBe(first);
      await store.sandboxes.change(first, 'provisioning', { status: 'failed', idempotencyKey: null });
      expect((await store.sandboxes.insert(sandbox('sbx_c', { idempotencyKey: 'k' }))).kind).toBe('inserted');
    });

    test('a change is written only from the status it was decided for', async () => {
      await store.sandboxes.insert(sandbox('sbx_a'));
      const running = { status: 'running', readyAtMs: 5, expiresAtMs: 10 } as const;
      expect(await store.sandboxes.change('sbx_a', 'provisioning', running)).toMatchObject(running);
      expect(await store.sandboxes.change('sbx_a', 'provisioning', { status: 'failed' })).toBeUndefined();
      expect(await store.sandboxes.read('sbx_a')).toMatchObject(running);
    });

    test('what is expired, what has a status, what a list leaves out', async () => {
      for (const id of ['sbx_a', 'sbx_b', 'sbx_c']) await store.sandboxes.insert(sandbox(id));
      await store.sandboxes.change('sbx_a', 'provisioning', { status: 'running', expiresAtMs: 10 });
      await store.sandboxes.change('sbx_b', 'provisioning', { status: 'running', expiresAtMs: 11 });
      await store.sandboxes.change('sbx_c', 'provisioning', { status: 'deleted', deletedAtMs: 1 });
      const idsOf = (rows: readonly { id: string }[]) => rows.map(({ id }) => id);
      expect(idsOf(await store.sandboxes.expired(10))).toEqual(['sbx_a']);
      expect(idsOf(await store.sandboxes.withStatus(['deleted', 'failed']))).toEqual(['sbx_c']);
      const page = { limit: 10 };
      expect(idsOf(await store.sandboxes.list(account.id, { ...page, includeDeleted: false }))).toEqual([
        'sbx_b',
        'sbx_a',
      ]);
      expect(await store.sandboxes.list(account.id, { ...page, includeDeleted: true })).toHaveLength(3);
    });

    test('an execution keeps its bytes and ends once', async () => {
      await store.sandboxes.insert(sandbox('sbx_a'));
      const execution = { id: 'exec_a', accountId: account.id, sandboxId: 'sbx_a', startedAtMs: 3 };
      await store.executions.insert(execution);
      expect(await store.executions.find(account.id, 'exec_a')).toMatchObject({ status: 'running', exitCode: null });
      const end = { exitCode: 0, truncated: true, durationMs: 4, finishedAtMs: 7 } as const;
      const output = { stdout: Buffer.from([0, 255, 128]), stderr: Buffer.alloc(0) };
      await store.executions.finish('exec_a', { status: 'completed', ...end, ...output });
      await store.executions.finish('exec_a', { status: 'failed', ...end, ...output });
      const kept = await store.executions.find(account.id, 'exec_a');
      expect(kept).toMatchObject({ ...execution, ...end, status: 'completed' });
      expect(Buffer.from(kept?.stdout ?? [])).toEqual(output.stdout);
      expect(await store.executions.find('acct_2', 'exec_a')).toBeUndefined();
    });

    test('executions that a crash left running end failed', async () => {
      await store.sandboxes.insert(sandbox('sbx_a'));
      await store.executions.insert({ id: 'exec_a', accountId: account.id, sandboxId: 'sbx_a', startedAtMs: 3 });
      expect(await store.executions.failRunning(9)).toBe(1);
      const kept = await store.executions.find(account.id, 'exec_a');
      expect(kept).toMatchObject({ status: 'failed', exitCode: null, finishedAtMs: 9 });
    });
  });
}
