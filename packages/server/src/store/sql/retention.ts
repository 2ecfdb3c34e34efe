import { sql } from 'kysely';
import type { RetentionStore } from '../../core/ports/store/retention-store.ts';
import type { Database } from './database.ts';

/** Removal of old records in SQL. The ledger keeps everything. */
export class SqlRetention implements RetentionStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async removeExecutions(endedBeforeMs: number, most: number): Promise<number> {
    const { db } = this.#database;
    const old = db
      .selectFrom('executions')
      .select('id')
      .where('finished_at_ms', '<', endedBeforeMs)
      .where('status', '!=', 'running')
      .limit(most);
    const { numDeletedRows } = await db.deleteFrom('executions').where('id', 'in', old).executeTakeFirstOrThrow();
    return Number(numDeletedRows);
  }

  async removeSandboxes(createdBeforeMs: number, most: number): Promise<number> {
    return this.#database.transact(async (db) => {
      const old = await db
        .selectFrom('sandboxes')
        .select('id')
        .where('status', 'in', ['deleted', 'failed'])
        .where('created_at_ms', '<', createdBeforeMs)
        .where((row) => {
          const ran = row.selectFrom('executions').select(sql`1`.as('one')).whereRef('sandbox_id', '=', 'sandboxes.id');
          return row.not(row.exists(ran));
        })
        .limit(most)
        .execute();
      const ids = old.map(({ id }) => id);
      if (ids.length === 0) return 0;
      await db.deleteFrom('previews').where('sandbox_id', 'in', ids).execute();
      await db.deleteFrom('sandboxes').where('id', 'in', ids).execute();
      return ids.length;
    });
  }
}
