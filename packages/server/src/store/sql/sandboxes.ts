import type { SandboxStatus } from '@mayfly/contract';
import { type Kysely, type Selectable, sql } from 'kysely';
import type {
  InsertOutcome,
  ListPage,
  NewSandbox,
  SandboxChange,
  SandboxRecord,
  SandboxStore,
} from '../../core/ports/store.ts';
import type { SandboxesTable, Schema } from '../schema.ts';

/** How often an insert is tried when others take its creation time first. */
const maxInsertTries = 50;

/** Sandboxes in SQL. */
export class SqlSandboxes implements SandboxStore {
  readonly #db: Kysely<Schema>;

  constructor(db: Kysely<Schema>) {
    this.#db = db;
  }

  async insert(sandbox: NewSandbox): Promise<InsertOutcome> {
    for (let tries = 0; tries < maxInsertTries; tries++) {
      const inserted = await this.#tryInsert(sandbox);
      if (inserted !== undefined) return { kind: 'inserted', sandbox: inserted };
      const earlier = await this.#findByIdempotencyKey(sandbox);
      if (earlier !== undefined) return { kind: 'replayed', sandbox: earlier };
    }
    throw new Error(`sandbox ${sandbox.id} found no free creation time`);
  }

  async find(accountId: string, id: string): Promise<SandboxRecord | undefined> {
    const query = this.#db.selectFrom('sandboxes').selectAll().where('id', '=', id).where('account_id', '=', accountId);
    return recordOf(await query.executeTakeFirst());
  }

  async read(id: string): Promise<SandboxRecord | undefined> {
    return recordOf(await this.#db.selectFrom('sandboxes').selectAll().where('id', '=', id).executeTakeFirst());
  }

  async list(accountId: string, { limit, beforeMs, includeDeleted }: ListPage): Promise<readonly SandboxRecord[]> {
    let query = this.#db.selectFrom('sandboxes').selectAll().where('account_id', '=', accountId);
    if (beforeMs !== undefined) query = query.where('created_at_ms', '<', beforeMs);
    if (!includeDeleted) query = query.where('status', '!=', 'deleted');
    return recordsOf(await query.orderBy('created_at_ms', 'desc').limit(limit).execute());
  }

  async change(id: string, from: SandboxStatus, change: SandboxChange): Promise<SandboxRecord | undefined> {
    const query = this.#db.updateTable('sandboxes').set(columnsOf(change)).where('id', '=', id);
    return recordOf(await query.where('status', '=', from).returningAll().executeTakeFirst());
  }

  async withStatus(statuses: readonly SandboxStatus[]): Promise<readonly SandboxRecord[]> {
    return recordsOf(await this.#db.selectFrom('sandboxes').selectAll().where('status', 'in', statuses).execute());
  }

  async expired(nowMs: number): Promise<readonly SandboxRecord[]> {
    const running = this.#db.selectFrom('sandboxes').selectAll().where('status', '=', 'running');
    return recordsOf(await running.where('expires_at_ms', '<=', nowMs).orderBy('expires_at_ms').execute());
  }

  /** Takes the first creation time after the account's newest; gives undefined if the time or the key is taken. */
  async #tryInsert(sandbox: NewSandbox): Promise<SandboxRecord | undefined> {
    const newest = sql`(select max(created_at_ms) from sandboxes where account_id = ${sandbox.accountId})`;
    const wanted = sql`cast(${sandbox.createdAtMs} as bigint)`;
    const row = await this.#db
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
        created_at_ms: sql<number>`case when ${newest} >= ${wanted} then ${newest} + 1 else ${wanted} end`,
        ready_at_ms: null,
        expires_at_ms: null,
        deleted_at_ms: null,
      })
      .onConflict((conflict) => conflict.doNothing())
      .returningAll()
      .executeTakeFirst();
    return recordOf(row);
  }

  async #findByIdempotencyKey({ accountId, idempotencyKey }: NewSandbox): Promise<SandboxRecord | undefined> {
    if (idempotencyKey === null) return undefined;
    const query = this.#db.selectFrom('sandboxes').selectAll().where('account_id', '=', accountId);
    return recordOf(await query.where('idempotency_key', '=', idempotencyKey).executeTakeFirst());
  }
}

function columnsOf(change: SandboxChange): Partial<SandboxesTable> {
  return {
    status: change.status,
    ...(change.statusReason !== undefined && { status_reason: change.statusReason }),
    ...(change.readyAtMs !== undefined && { ready_at_ms: change.readyAtMs }),
    ...(change.expiresAtMs !== undefined && { expires_at_ms: change.expiresAtMs }),
    ...(change.deletedAtMs !== undefined && { deleted_at_ms: change.deletedAtMs }),
    ...(change.idempotencyKey !== undefined && { idempotency_key: change.idempotencyKey }),
  };
}

function recordOf(row: Selectable<SandboxesTable> | undefined): SandboxRecord | undefined {
  if (row === undefined) return undefined;
  return {
    id: row.id,
    accountId: row.account_id,
    name: row.name,
    size: row.size,
    status: row.status,
    statusReason: row.status_reason,
    timeoutMinutes: row.timeout_minutes,
    idempotencyKey: row.idempotency_key,
    createdAtMs: row.created_at_ms,
    readyAtMs: row.ready_at_ms,
    expiresAtMs: row.expires_at_ms,
    deletedAtMs: row.deleted_at_ms,
  };
}

function recordsOf(rows: readonly Selectable<SandboxesTable>[]): readonly SandboxRecord[] {
  return rows.flatMap((row) => recordOf(row) ?? []);
}
