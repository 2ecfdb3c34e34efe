import type { SandboxStatus } from '@mayfly/contract';
import { type Kysely, type Selectable, sql, type Transaction } from 'kysely';
import type { SandboxCount } from '../../core/ports/metrics.ts';
import {
  type AdmissionFacts,
  type InsertOutcome,
  type ListPage,
  type NewSandbox,
  openStatuses,
  type SandboxChange,
  type SandboxGuard,
  type SandboxOrigin,
  type SandboxRecord,
  type SandboxStore,
} from '../../core/ports/store/sandbox-store.ts';
import type { SandboxesTable, Schema } from '../schema.ts';
import type { Database } from './database.ts';
import { lockAccount, runningOf, storedOf, writeCharge } from './sql-ledger.ts';

/** Sandboxes in SQL. */
export class SqlSandboxes implements SandboxStore {
  readonly #database: Database;
  readonly #byIdAndAccount;
  readonly #byId;

  constructor(database: Database) {
    this.#database = database;
    this.#byIdAndAccount = database.prepare('sandboxes.find', (db, id: string, accountId: string) =>
      db.selectFrom('sandboxes').selectAll().where('id', '=', id).where('account_id', '=', accountId),
    );
    this.#byId = database.prepare('sandboxes.read', (db, id: string) =>
      db.selectFrom('sandboxes').selectAll().where('id', '=', id),
    );
  }

  insert<Refusal>(
    sandbox: NewSandbox,
    admit: (facts: AdmissionFacts) => Refusal | undefined,
  ): Promise<InsertOutcome<Refusal>> {
    return this.#database.transact('sandboxes.insert', (transaction) => insertSandbox(transaction, sandbox, admit));
  }

  async find(accountId: string, id: string): Promise<SandboxRecord | undefined> {
    const [row] = await this.#byIdAndAccount(id, accountId);
    return row && sandboxOf(row);
  }

  async read(id: string): Promise<SandboxRecord | undefined> {
    const [row] = await this.#byId(id);
    return row && sandboxOf(row);
  }

  async list(accountId: string, { limit, beforeMs, includeDeleted }: ListPage): Promise<readonly SandboxRecord[]> {
    const rows = await this.#database.run('sandboxes.list', (db) => {
      let query = db.selectFrom('sandboxes').selectAll().where('account_id', '=', accountId);
      if (beforeMs !== undefined) query = query.where('created_at_ms', '<', beforeMs);
      // A literal, so that the partial index on this condition is used.
      if (!includeDeleted) query = query.where('status', '<>', sql.lit('deleted'));
      return query.orderBy('created_at_ms', 'desc').limit(limit).execute();
    });
    return rows.map(sandboxOf);
  }

  change(guard: SandboxGuard, change: SandboxChange): Promise<SandboxRecord | undefined> {
    const { charge } = change;
    const endsPreviews = losesPreviews(guard, change);
    if (charge === undefined && !endsPreviews) {
      return this.#database.run('sandboxes.change', (db) => writeChange(db, guard, change));
    }
    return this.#database.transact('sandboxes.change', async (transaction) => {
      const sandbox = await writeChange(transaction, guard, change);
      if (sandbox === undefined) return undefined;
      if (charge !== undefined) await writeCharge(transaction, sandbox, charge);
      if (endsPreviews) await transaction.deleteFrom('previews').where('sandbox_id', '=', sandbox.id).execute();
      return sandbox;
    });
  }

  async withStatus(statuses: readonly SandboxStatus[]): Promise<readonly SandboxRecord[]> {
    const rows = await this.#database.run('sandboxes.withStatus', (db) =>
      db.selectFrom('sandboxes').selectAll().where('status', 'in', statuses).execute(),
    );
    return rows.map(sandboxOf);
  }

  countByStatus(): Promise<readonly SandboxCount[]> {
    return this.#database.run('sandboxes.countByStatus', (db) =>
      db
        .selectFrom('sandboxes')
        .select(['status', 'size', sql<number>`cast(count(*) as bigint)`.as('count')])
        .where('status', 'in', openStatuses)
        .groupBy(['status', 'size'])
        .execute(),
    );
  }

  async expired(nowMs: number): Promise<readonly SandboxRecord[]> {
    const rows = await this.#database.run('sandboxes.expired', (db) =>
      db
        .selectFrom('sandboxes')
        .selectAll()
        .where('status', '=', 'running')
        .where('expires_at_ms', '<=', nowMs)
        .orderBy('expires_at_ms')
        .execute(),
    );
    return rows.map(sandboxOf);
  }
}

/** Previews end with the run. The previews of a sandbox whose machine died are kept, so that visitors are told why. */
function losesPreviews(guard: SandboxGuard, change: SandboxChange): boolean {
  return guard.status === 'running' && change.status !== 'running' && change.status !== 'failed';
}

/** Writes the change if the guard still holds. */
async function writeChange(
  db: Kysely<Schema>,
  { id, status, machineId, expiresAtMs }: SandboxGuard,
  change: SandboxChange,
): Promise<SandboxRecord | undefined> {
  const row = await db
    .updateTable('sandboxes')
    .set(columnsOf(change))
    .where('id', '=', id)
    .where('status', '=', status)
    .where('machine_id', machineId === null ? 'is' : '=', machineId)
    .where('expires_at_ms', expiresAtMs === null ? 'is' : '=', expiresAtMs)
    .returningAll()
    .executeTakeFirst();
  return row && sandboxOf(row);
}

/** Inserts a sandbox while the account is locked against other inserts. */
async function insertSandbox<Refusal>(
  transaction: Transaction<Schema>,
  sandbox: NewSandbox,
  admit: (facts: AdmissionFacts) => Refusal | undefined,
): Promise<InsertOutcome<Refusal>> {
  const { settledMicroUsd, suspended } = await lockAccount(transaction, sandbox.accountId);
  const earlier = await findByIdempotencyKey(transaction, sandbox);
  if (earlier !== undefined) return { kind: 'replayed', sandbox: earlier };
  const open = await transaction
    .selectFrom('sandboxes')
    .select(['status', 'ready_at_ms', 'expires_at_ms', 'price_micro_usd_per_hour'])
    .where('account_id', '=', sandbox.accountId)
    .where('status', 'in', ['provisioning', 'running'])
    .execute();
  const running = runningOf(open.filter(({ status }) => status === 'running'));
  const stored = await storedOf(transaction, sandbox.accountId);
  const refusal = admit({ suspended, settledMicroUsd, running, stored, openSandboxes: open.length });
  if (refusal !== undefined) return { kind: 'refused', refusal };
  return { kind: 'inserted', sandbox: await insertRow(transaction, sandbox) };
}

async function findByIdempotencyKey(
  transaction: Transaction<Schema>,
  { accountId, idempotencyKey }: NewSandbox,
): Promise<SandboxRecord | undefined> {
  if (idempotencyKey === null) return undefined;
  const query = transaction.selectFrom('sandboxes').selectAll().where('account_id', '=', accountId);
  const row = await query.where('idempotency_key', '=', idempotencyKey).executeTakeFirst();
  return row && sandboxOf(row);
}

/** Moves the creation time past the newest one of the account's sandboxes. */
async function insertRow(transaction: Transaction<Schema>, sandbox: NewSandbox): Promise<SandboxRecord> {
  const newest = sql`(select max(created_at_ms) from sandboxes where account_id = ${sandbox.accountId})`;
  const wanted = sql`cast(${sandbox.createdAtMs} as bigint)`;
  const row = await transaction
    .insertInto('sandboxes')
    .values({
      id: sandbox.id,
      account_id: sandbox.accountId,
      name: sandbox.name,
      size: sandbox.size,
      status: 'provisioning',
      status_reason: null,
      timeout_minutes: sandbox.timeoutMinutes,
      idempotency_key: sandbox.idempotencyKey,
      price_micro_usd_per_hour: sandbox.priceMicroUsdPerHour,
      machine_id: null,
      origin_sandbox_id: sandbox.origin?.sandboxId ?? null,
      origin_snapshot_id: sandbox.origin?.snapshotId ?? null,
      origin_at_ms: sandbox.origin?.atMs ?? null,
      created_at_ms: sql<number>`case when ${newest} >= ${wanted} then ${newest} + 1 else ${wanted} end`,
      ready_at_ms: null,
      expires_at_ms: null,
      ended_at_ms: null,
      deleted_at_ms: null,
    })
    .returningAll()
    .executeTakeFirstOrThrow();
  return sandboxOf(row);
}

function sandboxOf(row: Selectable<SandboxesTable>): SandboxRecord {
  return {
    id: row.id,
    accountId: row.account_id,
    name: row.name,
    size: row.size,
    status: row.status,
    statusReason: row.status_reason,
    timeoutMinutes: row.timeout_minutes,
    idempotencyKey: row.idempotency_key,
    priceMicroUsdPerHour: row.price_micro_usd_per_hour,
    machineId: row.machine_id,
    origin: originOf(row),
    createdAtMs: row.created_at_ms,
    readyAtMs: row.ready_at_ms,
    expiresAtMs: row.expires_at_ms,
    endedAtMs: row.ended_at_ms,
    deletedAtMs: row.deleted_at_ms,
  };
}

function originOf({ origin_sandbox_id: sandboxId, ...row }: Selectable<SandboxesTable>): SandboxOrigin | null {
  if (sandboxId === null) return null;
  return { sandboxId, atMs: row.origin_at_ms ?? 0, snapshotId: row.origin_snapshot_id };
}

/** The columns that a change writes. */
function columnsOf(change: SandboxChange): Partial<SandboxesTable> {
  return {
    status: change.status,
    ...(change.statusReason !== undefined && { status_reason: change.statusReason }),
    ...(change.timeoutMinutes !== undefined && { timeout_minutes: change.timeoutMinutes }),
    ...(change.machineId !== undefined && { machine_id: change.machineId }),
    ...(change.originAtMs !== undefined && { origin_at_ms: change.originAtMs }),
    ...(change.readyAtMs !== undefined && { ready_at_ms: change.readyAtMs }),
    ...(change.expiresAtMs !== undefined && { expires_at_ms: change.expiresAtMs }),
    ...(change.endedAtMs !== undefined && { ended_at_ms: change.endedAtMs }),
    ...(change.deletedAtMs !== undefined && { deleted_at_ms: change.deletedAtMs }),
    ...(change.idempotencyKey !== undefined && { idempotency_key: change.idempotencyKey }),
  };
}
