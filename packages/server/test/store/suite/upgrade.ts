import { type Kysely, sql } from 'kysely';
import { expect, test } from 'vitest';
import type { Store } from '../../../src/core/ports/store/store.ts';
import { createFirstTables } from '../../../src/store/migrations/0001-accounts-sandboxes-executions.ts';
import { steps } from '../../../src/store/migrations/migrate.ts';
import type { MigrationEngine } from '../../../src/store/schema.ts';

/** An empty database, and the store that opens on it. */
export interface EmptyDatabase {
  readonly db: Kysely<unknown>;
  readonly engine: MigrationEngine;
  /** Closes `db` first. */
  readonly open: () => Promise<Store>;
}

/** Applies the migrations before the one under test to an empty database, and adds an account. */
async function migrateUpTo(number: string, { db, engine }: EmptyDatabase): Promise<void> {
  const earlier = Object.entries(steps).filter(([name]) => name < number);
  for (const [, step] of earlier) await step(db, engine);
  await sql`create table kysely_migration (name varchar(255) primary key, timestamp varchar(255))`.execute(db);
  for (const [name] of earlier) await sql`insert into kysely_migration values (${name}, '2026-01-01')`.execute(db);
  await sql`insert into accounts (id, email, email_key, suspended, created_at_ms)
    values ('acct_1', 'a@localhost', 'a@localhost', 0, 7)`.execute(db);
}

/** Databases of earlier versions are migrated without loss. */
export function describeUpgrade(openEmpty: () => Promise<EmptyDatabase>): void {
  test('a database of the first version keeps its accounts, whose credit moves to the ledger, and its sandboxes, which get prices', async () => {
    const { db, engine, open } = await openEmpty();
    await createFirstTables(db, engine);
    await sql`create table kysely_migration (name varchar(255) primary key, timestamp varchar(255))`.execute(db);
    await sql`insert into kysely_migration values ('0001-accounts-sandboxes-executions', '2026-01-01')`.execute(db);
    await sql`insert into accounts (id, email, suspended, opening_credit_micro_usd, created_at_ms)
      values ('acct_1', 'Ä@localhost', 0, 100000000, 7), ('acct_2', 'b@localhost', 1, 0, 8)`.execute(db);
    await sql`insert into api_keys (id, account_id, hash, prefix, created_at_ms)
      values ('key_1', 'acct_1', 'hash', 'mf_', 7)`.execute(db);
    await sql`insert into sandboxes (id, account_id, size, status, timeout_minutes, created_at_ms, ready_at_ms, expires_at_ms)
      values ('sbx_1', 'acct_1', 'large', 'running', 15, 1790000000000, 1790000000001, 1790000900001)`.execute(db);

    const store = await open();
    expect(await store.accounts.findByKeyHash('hash')).toMatchObject({ account: { id: 'acct_1', limits: {} } });
    expect((await store.accounts.findByEmail('ä@LOCALHOST'))?.id).toBe('acct_1');
    expect((await store.accounts.findByEmail('b@localhost'))?.suspended).toBe(true);
    expect(await store.ledger.summary('acct_1', 7)).toMatchObject({
      settledMicroUsd: 100_000_000,
      addedMicroUsd: 100_000_000,
      running: [{ readyAtMs: 1790000000001, expiresAtMs: 1790000900001, priceMicroUsdPerHour: 200_000 }],
    });
    expect(await store.ledger.summary('acct_2', 0)).toMatchObject({ settledMicroUsd: 0, addedMicroUsd: 0 });
    expect(await store.sandboxes.read('sbx_1')).toMatchObject({ priceMicroUsdPerHour: 200_000, origin: null });
    expect(await store.snapshots.all()).toEqual([]);
    await store.close();
  });

  test('sandboxes that were charged before the ledger kept their creation count by it, or by the start of their run', async () => {
    const empty = await openEmpty();
    await migrateUpTo('0007', empty);
    const { db, open } = empty;
    await sql`insert into sandboxes (id, account_id, size, status, timeout_minutes, created_at_ms, ready_at_ms, deleted_at_ms)
      values ('sbx_kept', 'acct_1', 'small', 'deleted', 15, 1000, 1400, 2500)`.execute(db);
    await sql`insert into ledger_entries (id, account_id, kind, amount_micro_usd, sandbox_id, runtime_ms, note, created_at_ms)
      values ('usage:sbx_kept', 'acct_1', 'usage', -5, 'sbx_kept', 1100, '', 2500),
        ('usage:sbx_removed', 'acct_1', 'usage', -5, 'sbx_removed', 1100, '', 2500)`.execute(db);

    const store = await open();
    const createdSince = async (sinceMs: number) => (await store.ledger.summary('acct_1', sinceMs)).sandboxesCreated;
    expect([await createdSince(1000), await createdSince(1001), await createdSince(1401)]).toEqual([2, 1, 0]);
    await store.close();
  });

  test('charges from before days were summed up are on the day they were written, by the size of the record if there is one', async () => {
    const empty = await openEmpty();
    await migrateUpTo('0011', empty);
    const { db, open } = empty;
    const day = 86_400_000;
    await sql`insert into sandboxes (id, account_id, size, status, timeout_minutes, created_at_ms, ready_at_ms, deleted_at_ms)
      values ('sbx_kept', 'acct_1', 'large', 'deleted', 15, 1000, 1400, 2500)`.execute(db);
    await sql`insert into ledger_entries (id, account_id, kind, amount_micro_usd, sandbox_id, runtime_ms, note, created_at_ms)
      values ('usage:sbx_kept', 'acct_1', 'usage', -5, 'sbx_kept', 1100, '', ${3 * day}),
        ('usage:sbx_removed', 'acct_1', 'usage', -6, 'sbx_removed', 10, '', ${4 * day - 1}),
        ('usage:sbx_gone', 'acct_1', 'usage', -7, 'sbx_gone', 20, '', ${3 * day + 1}),
        ('storage:snap:1', 'acct_1', 'storage', -2, null, null, '', ${4 * day}),
        ('credit', 'acct_1', 'credit', 900, null, null, '', ${3 * day})`.execute(db);

    const store = await open();
    const { days } = await store.ledger.days('acct_1', 0);
    expect(days.toSorted((one, other) => one.day - other.day || one.item.localeCompare(other.item))).toEqual([
      { day: 3, item: 'large', amountMicroUsd: 5, runtimeMs: 1100, sandboxes: 1 },
      { day: 3, item: 'unknown', amountMicroUsd: 13, runtimeMs: 30, sandboxes: 2 },
      { day: 4, item: 'storage', amountMicroUsd: 2, runtimeMs: 0, sandboxes: 0 },
    ]);
    await store.close();
  });

  test('keys from before they had names have none, and what they and operators did stays theirs', async () => {
    const empty = await openEmpty();
    await migrateUpTo('0010', empty);
    const { db, open } = empty;
    await sql`insert into api_keys (id, account_id, hash, prefix, created_at_ms)
      values ('key_1', 'acct_1', 'hash', 'mf_', 7)`.execute(db);
    await sql`insert into audit_events (id, at_ms, key_id, source_address, operator, account_id, action)
      values ('aud_1', 1, 'key_1', '192.0.2.1', null, 'acct_1', 'createSandbox'),
        ('aud_2', 2, null, null, 'ada', 'acct_1', 'accounts.credit')`.execute(db);

    const store = await open();
    expect(await store.accounts.listKeys('acct_1')).toMatchObject([{ id: 'key_1', name: null, lastUsedAtMs: null }]);
    expect((await store.audit.list({ limit: 10 })).map(({ actor }) => actor)).toEqual([
      { kind: 'operator', name: 'ada' },
      { kind: 'api_key', keyId: 'key_1', sourceAddress: '192.0.2.1' },
    ]);
    expect(await store.signIns.setFirstPassword('acct_1', 'hash')).toBe(true);
    await store.close();
  });

  test('sandboxes that ended before their end was stored have the end of their charged time, or when they were deleted', async () => {
    const empty = await openEmpty();
    await migrateUpTo('0009', empty);
    const { db, open } = empty;
    await sql`insert into sandboxes (id, account_id, size, status, timeout_minutes, created_at_ms, ready_at_ms, deleted_at_ms)
      values ('sbx_running', 'acct_1', 'small', 'running', 15, 1001, 1400, null),
        ('sbx_died', 'acct_1', 'small', 'failed', 15, 1002, 1400, null),
        ('sbx_stuck', 'acct_1', 'small', 'deleting', 15, 1003, 1400, null),
        ('sbx_expired', 'acct_1', 'small', 'deleted', 15, 1004, 1400, 9000),
        ('sbx_cancelled', 'acct_1', 'small', 'deleted', 15, 1005, null, 9000),
        ('sbx_never_ready', 'acct_1', 'small', 'failed', 15, 1006, null, null)`.execute(db);
    // The sweep charged the last one after its expiry.
    await sql`insert into ledger_entries (id, account_id, kind, amount_micro_usd, sandbox_id, runtime_ms, note, created_at_ms)
      values ('usage:sbx_died', 'acct_1', 'usage', -5, 'sbx_died', 1100, '', 2500),
        ('usage:sbx_stuck', 'acct_1', 'usage', -5, 'sbx_stuck', 1200, '', 2600),
        ('usage:sbx_expired', 'acct_1', 'usage', -5, 'sbx_expired', 1300, '', 8000)`.execute(db);

    const store = await open();
    const sandboxes = await store.sandboxes.list('acct_1', { limit: 10, includeDeleted: true });
    expect(Object.fromEntries(sandboxes.map(({ id, endedAtMs }) => [id, endedAtMs]))).toEqual({
      sbx_running: null,
      sbx_died: 2500,
      sbx_stuck: 2600,
      sbx_expired: 2700,
      sbx_cancelled: 9000,
      sbx_never_ready: null,
    });
    await store.close();
  });
}
