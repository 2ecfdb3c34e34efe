import { type Selectable, sql, type Transaction, type Updateable } from 'kysely';
import { storageCostMicroUsd } from '../../core/money/storage.ts';
import type { SnapshotCount } from '../../core/ports/metrics.ts';
import type {
  NewSnapshot,
  SnapshotFacts,
  SnapshotInsertOutcome,
  SnapshotPage,
  SnapshotRecord,
  SnapshotStore,
  StorageCharge,
} from '../../core/ports/store/snapshot-store.ts';
import type { Schema, SnapshotsTable } from '../schema.ts';
import type { Database } from './database.ts';
import { lockAccount, runningOf, storedOf, writeStorageCharge } from './sql-ledger.ts';

type Row = Selectable<SnapshotsTable>;

/** Snapshots in SQL. */
export class SqlSnapshots implements SnapshotStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  insert<Refusal>(
    snapshot: NewSnapshot,
    admit: (facts: SnapshotFacts) => Refusal | undefined,
  ): Promise<SnapshotInsertOutcome<Refusal>> {
    return this.#database.transact('snapshots.insert', (transaction) => insertSnapshot(transaction, snapshot, admit));
  }

  async find(accountId: string, id: string): Promise<SnapshotRecord | undefined> {
    const row = await this.#database.run('snapshots.find', (db) =>
      db
        .selectFrom('snapshots')
        .selectAll()
        .where('id', '=', id)
        .where('account_id', '=', accountId)
        .executeTakeFirst(),
    );
    return row && snapshotOf(row);
  }

  async findByAlias(accountId: string, alias: string): Promise<SnapshotRecord | undefined> {
    const row = await this.#database.run('snapshots.findByAlias', (db) =>
      db
        .selectFrom('snapshots')
        .selectAll()
        .where('account_id', '=', accountId)
        .where('alias', '=', alias)
        .where('status', '=', 'ready')
        .executeTakeFirst(),
    );
    return row && snapshotOf(row);
  }

  async list(accountId: string, { limit, beforeMs }: SnapshotPage): Promise<readonly SnapshotRecord[]> {
    const rows = await this.#database.run('snapshots.list', (db) => {
      let query = db.selectFrom('snapshots').selectAll().where('account_id', '=', accountId);
      if (beforeMs !== undefined) query = query.where('created_at_ms', '<', beforeMs);
      return query.orderBy('created_at_ms', 'desc').limit(limit).execute();
    });
    return rows.map(snapshotOf);
  }

  async complete(id: string, bytes: number, nowMs: number): Promise<SnapshotRecord | undefined> {
    const row = await this.#database.run('snapshots.complete', (db) =>
      db
        .updateTable('snapshots')
        .set({ status: 'ready', bytes, charged_until_ms: nowMs })
        .where('id', '=', id)
        .where('status', '=', 'creating')
        .returningAll()
        .executeTakeFirst(),
    );
    return row && snapshotOf(row);
  }

  fail(id: string, nowMs: number): Promise<StorageCharge> {
    return this.#charge('snapshots.fail', id, nowMs, (transaction, row) =>
      updateReady(transaction, row, { status: 'failed', bytes: 0, alias: null, idempotency_key: null }),
    );
  }

  remove(id: string, nowMs: number): Promise<StorageCharge> {
    return this.#charge('snapshots.remove', id, nowMs, async (transaction) => {
      await transaction.deleteFrom('snapshots').where('id', '=', id).execute();
      return true;
    });
  }

  resize(id: string, bytes: number, nowMs: number): Promise<StorageCharge> {
    return this.#charge('snapshots.resize', id, nowMs, (transaction, row) =>
      updateReady(transaction, row, { bytes, charged_until_ms: Math.max(row.charged_until_ms, nowMs) }),
    );
  }

  async all(): Promise<readonly SnapshotRecord[]> {
    const rows = await this.#database.run('snapshots.all', (db) =>
      db.selectFrom('snapshots').selectAll().orderBy('created_at_ms').orderBy('id').execute(),
    );
    return rows.map(snapshotOf);
  }

  countByStatus(): Promise<readonly SnapshotCount[]> {
    return this.#database.run('snapshots.countByStatus', (db) =>
      db
        .selectFrom('snapshots')
        .select(['status', sql<number>`cast(count(*) as bigint)`.as('count')])
        .select(sql<number>`cast(sum(bytes) as bigint)`.as('bytes'))
        .groupBy('status')
        .execute(),
    );
  }

  /** Changes a snapshot while its account is locked, and charges what its storage cost until now if the change took effect. */
  #charge(
    operation: string,
    id: string,
    nowMs: number,
    change: (transaction: Transaction<Schema>, row: Row) => Promise<boolean>,
  ): Promise<StorageCharge> {
    return this.#database.transact(operation, async (transaction) => {
      const unchanged = { changed: false, chargedMicroUsd: 0 } as const;
      const byId = transaction.selectFrom('snapshots').where('id', '=', id);
      const owner = await byId.select('account_id').executeTakeFirst();
      if (owner === undefined) return unchanged;
      await lockAccount(transaction, owner.account_id);
      // Read again: another change may have been made before the account was locked.
      const row = await byId.selectAll().executeTakeFirst();
      if (row === undefined || !(await change(transaction, row))) return unchanged;
      const durationMs = nowMs - row.charged_until_ms;
      const chargedMicroUsd = storageCostMicroUsd(row.bytes, durationMs, row.price_micro_usd_per_gb_month);
      if (chargedMicroUsd > 0) await writeStorageCharge(transaction, row, chargedMicroUsd, nowMs);
      return { changed: true, chargedMicroUsd, accountId: row.account_id };
    });
  }
}

async function updateReady(
  transaction: Transaction<Schema>,
  { id }: Row,
  columns: Updateable<SnapshotsTable>,
): Promise<boolean> {
  const query = transaction.updateTable('snapshots').set(columns).where('id', '=', id).where('status', '=', 'ready');
  return (await query.returning('id').executeTakeFirst()) !== undefined;
}

/** Inserts a snapshot while the account is locked against other changes. */
async function insertSnapshot<Refusal>(
  transaction: Transaction<Schema>,
  snapshot: NewSnapshot,
  admit: (facts: SnapshotFacts) => Refusal | undefined,
): Promise<SnapshotInsertOutcome<Refusal>> {
  const { accountId, idempotencyKey, alias } = snapshot;
  const { settledMicroUsd, suspended } = await lockAccount(transaction, accountId);
  const rows = await transaction.selectFrom('snapshots').selectAll().where('account_id', '=', accountId).execute();
  const earlier = rows.find((row) => idempotencyKey !== null && row.idempotency_key === idempotencyKey);
  if (earlier !== undefined) return { kind: 'replayed', snapshot: snapshotOf(earlier) };
  const running = await transaction
    .selectFrom('sandboxes')
    .select(['ready_at_ms', 'expires_at_ms', 'price_micro_usd_per_hour'])
    .where('account_id', '=', accountId)
    .where('status', '=', 'running')
    .execute();
  const refusal = admit({
    suspended,
    settledMicroUsd,
    running: runningOf(running),
    stored: await storedOf(transaction, accountId),
    snapshots: rows.length,
    storedBytes: rows.reduce((sum, { bytes }) => sum + bytes, 0),
    aliasTaken: alias !== null && rows.some((row) => row.alias === alias),
  });
  if (refusal !== undefined) return { kind: 'refused', refusal };
  const newestMs = rows.reduce((newest, row) => Math.max(newest, row.created_at_ms), 0);
  return { kind: 'inserted', snapshot: await insertRow(transaction, snapshot, newestMs) };
}

/** Moves the creation time past the newest one of the account's snapshots. */
async function insertRow(
  transaction: Transaction<Schema>,
  snapshot: NewSnapshot,
  newestMs: number,
): Promise<SnapshotRecord> {
  const createdAtMs = Math.max(snapshot.createdAtMs, newestMs + 1);
  const row = await transaction
    .insertInto('snapshots')
    .values({
      id: snapshot.id,
      account_id: snapshot.accountId,
      sandbox_id: snapshot.sandboxId,
      name: snapshot.name,
      alias: snapshot.alias,
      size: snapshot.size,
      status: 'creating',
      bytes: 0,
      idempotency_key: snapshot.idempotencyKey,
      price_micro_usd_per_gb_month: snapshot.priceMicroUsdPerGbMonth,
      charged_until_ms: createdAtMs,
      created_at_ms: createdAtMs,
    })
    .returningAll()
    .executeTakeFirstOrThrow();
  return snapshotOf(row);
}

function snapshotOf(row: Row): SnapshotRecord {
  return {
    id: row.id,
    accountId: row.account_id,
    sandboxId: row.sandbox_id,
    name: row.name,
    alias: row.alias,
    size: row.size,
    status: row.status,
    bytes: row.bytes,
    idempotencyKey: row.idempotency_key,
    priceMicroUsdPerGbMonth: row.price_micro_usd_per_gb_month,
    chargedUntilMs: row.charged_until_ms,
    createdAtMs: row.created_at_ms,
  };
}
