import type { SandboxStatus } from '@mayfly/contract';
import { type Kysely, sql } from 'kysely';
import type { SandboxCount } from '../../core/ports/metrics.ts';
import {
  type AdmissionFacts,
  type InsertOutcome,
  type ListPage,
  type NewSandbox,
  openStatuses,
  type SandboxChange,
  type SandboxGuard,
  type SandboxRecord,
  type SandboxStore,
} from '../../core/ports/store/sandbox-store.ts';
import type { Schema } from '../schema.ts';
import type { Database } from './database.ts';
import { insertSandbox } from './insert-sandbox.ts';
import { writeCharge } from './ledger-entries.ts';
import { columnsOf, sandboxOf } from './sandbox-row.ts';

/** Sandboxes in SQL. */
export class SqlSandboxes implements SandboxStore {
  readonly #database: Database;
  readonly #byIdAndAccount;
  readonly #byId;

  constructor(database: Database) {
    this.#database = database;
    this.#byIdAndAccount = database.prepare((db, id: string, accountId: string) =>
      db.selectFrom('sandboxes').selectAll().where('id', '=', id).where('account_id', '=', accountId),
    );
    this.#byId = database.prepare((db, id: string) => db.selectFrom('sandboxes').selectAll().where('id', '=', id));
  }

  insert<Refusal>(
    sandbox: NewSandbox,
    admit: (facts: AdmissionFacts) => Refusal | undefined,
  ): Promise<InsertOutcome<Refusal>> {
    return this.#database.transact((transaction) => insertSandbox(transaction, sandbox, admit));
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
    let query = this.#database.db.selectFrom('sandboxes').selectAll().where('account_id', '=', accountId);
    if (beforeMs !== undefined) query = query.where('created_at_ms', '<', beforeMs);
    // A literal, so that the index of just these is used.
    if (!includeDeleted) query = query.where('status', '<>', sql.lit('deleted'));
    return (await query.orderBy('created_at_ms', 'desc').limit(limit).execute()).map(sandboxOf);
  }

  change(guard: SandboxGuard, change: SandboxChange): Promise<SandboxRecord | undefined> {
    const { charge } = change;
    const endsPreviews = previewsEnd(guard, change);
    if (charge === undefined && !endsPreviews) return writeChange(this.#database.db, guard, change);
    return this.#database.transact(async (transaction) => {
      const sandbox = await writeChange(transaction, guard, change);
      if (sandbox === undefined) return undefined;
      if (charge !== undefined) await writeCharge(transaction, sandbox, charge);
      if (endsPreviews) await transaction.deleteFrom('previews').where('sandbox_id', '=', sandbox.id).execute();
      return sandbox;
    });
  }

  async withStatus(statuses: readonly SandboxStatus[]): Promise<readonly SandboxRecord[]> {
    const query = this.#database.db.selectFrom('sandboxes').selectAll().where('status', 'in', statuses);
    return (await query.execute()).map(sandboxOf);
  }

  async countByStatus(): Promise<readonly SandboxCount[]> {
    return await this.#database.db
      .selectFrom('sandboxes')
      .select(['status', 'size', sql<number>`cast(count(*) as bigint)`.as('count')])
      .where('status', 'in', openStatuses)
      .groupBy(['status', 'size'])
      .execute();
  }

  async expired(nowMs: number): Promise<readonly SandboxRecord[]> {
    const running = this.#database.db.selectFrom('sandboxes').selectAll().where('status', '=', 'running');
    const rows = await running.where('expires_at_ms', '<=', nowMs).orderBy('expires_at_ms').execute();
    return rows.map(sandboxOf);
  }
}

/** Previews end with the run. Those of a sandbox whose machine died are remembered, so that visitors hear of the death. */
function previewsEnd(guard: SandboxGuard, change: SandboxChange): boolean {
  return guard.status === 'running' && change.status !== 'running' && change.status !== 'failed';
}

/** Writes the change if the guard holds at that very moment. */
async function writeChange(
  db: Kysely<Schema>,
  { id, status, expiresAtMs }: SandboxGuard,
  change: SandboxChange,
): Promise<SandboxRecord | undefined> {
  const query = db.updateTable('sandboxes').set(columnsOf(change)).where('id', '=', id).where('status', '=', status);
  const guarded =
    expiresAtMs === null ? query.where('expires_at_ms', 'is', null) : query.where('expires_at_ms', '=', expiresAtMs);
  const row = await guarded.returningAll().executeTakeFirst();
  return row && sandboxOf(row);
}
