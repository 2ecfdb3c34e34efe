import type { Selectable } from 'kysely';
import type { PreviewRecord, PreviewStore } from '../../core/ports/store/preview-store.ts';
import type { PreviewsTable } from '../schema.ts';
import type { Database } from './database.ts';

/** Previews in SQL. */
export class SqlPreviews implements PreviewStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  open(preview: PreviewRecord): Promise<PreviewRecord | undefined> {
    const { sandboxId, port } = preview;
    return this.#database.transact(async (transaction) => {
      // Writing the row as it is keeps the sandbox running until this is kept.
      const running = await transaction
        .updateTable('sandboxes')
        .set((row) => ({ status: row.ref('status') }))
        .where('id', '=', sandboxId)
        .where('status', '=', 'running')
        .returning('id')
        .executeTakeFirst();
      if (running === undefined) return undefined;
      const row = { sandbox_id: sandboxId, port, token: preview.token, created_at_ms: preview.createdAtMs };
      const primaryKey = ['sandbox_id', 'port'] as const;
      await transaction
        .insertInto('previews')
        .values(row)
        .onConflict((conflict) => conflict.columns(primaryKey).doNothing())
        .execute();
      const kept = transaction.selectFrom('previews').selectAll().where('sandbox_id', '=', sandboxId);
      return previewOf(await kept.where('port', '=', port).executeTakeFirstOrThrow());
    });
  }

  async list(sandboxId: string): Promise<readonly PreviewRecord[]> {
    const query = this.#database.db.selectFrom('previews').selectAll().where('sandbox_id', '=', sandboxId);
    return (await query.orderBy('created_at_ms').orderBy('port').execute()).map(previewOf);
  }

  async close(sandboxId: string, port: number): Promise<boolean> {
    const query = this.#database.db.deleteFrom('previews').where('sandbox_id', '=', sandboxId).where('port', '=', port);
    return (await query.returning('port').executeTakeFirst()) !== undefined;
  }
}

function previewOf(row: Selectable<PreviewsTable>): PreviewRecord {
  return { sandboxId: row.sandbox_id, port: row.port, token: row.token, createdAtMs: row.created_at_ms };
}
