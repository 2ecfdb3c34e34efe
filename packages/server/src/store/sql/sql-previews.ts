import type { Selectable } from 'kysely';
import type { KnownPreview, PreviewRecord, PreviewStore } from '../../core/ports/store/preview-store.ts';
import type { PreviewsTable } from '../schema.ts';
import type { Database } from './database.ts';

/** Previews in SQL. */
export class SqlPreviews implements PreviewStore {
  readonly #database: Database;
  readonly #byToken;

  constructor(database: Database) {
    this.#database = database;
    this.#byToken = database.prepare('previews.findByToken', (db, token: string) =>
      db
        .selectFrom('previews')
        .innerJoin('sandboxes', 'sandboxes.id', 'previews.sandbox_id')
        .innerJoin('accounts', 'accounts.id', 'sandboxes.account_id')
        .selectAll('previews')
        .select('sandboxes.status as sandbox_status')
        .where('token', '=', token)
        .where('accounts.suspended', '=', 0),
    );
  }

  open(preview: PreviewRecord): Promise<PreviewRecord | undefined> {
    const { sandboxId, port } = preview;
    return this.#database.transact('previews.open', async (transaction) => {
      // Writing the row unchanged locks it, so that the sandbox stays running until the preview is stored.
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
      const stored = transaction.selectFrom('previews').selectAll().where('sandbox_id', '=', sandboxId);
      return previewOf(await stored.where('port', '=', port).executeTakeFirstOrThrow());
    });
  }

  async findByToken(token: string): Promise<KnownPreview | undefined> {
    const [row] = await this.#byToken(token);
    return row && { ...previewOf(row), sandboxStatus: row.sandbox_status };
  }

  async list(sandboxId: string): Promise<readonly PreviewRecord[]> {
    const rows = await this.#database.run('previews.list', (db) =>
      db
        .selectFrom('previews')
        .innerJoin('sandboxes', 'sandboxes.id', 'previews.sandbox_id')
        .selectAll('previews')
        .where('sandbox_id', '=', sandboxId)
        .where('sandboxes.status', '=', 'running')
        .orderBy('previews.created_at_ms')
        .orderBy('port')
        .execute(),
    );
    return rows.map(previewOf);
  }

  async close(sandboxId: string, port: number): Promise<boolean> {
    const closed = await this.#database.run('previews.close', (db) =>
      db
        .deleteFrom('previews')
        .where('sandbox_id', '=', sandboxId)
        .where('port', '=', port)
        .returning('port')
        .executeTakeFirst(),
    );
    return closed !== undefined;
  }
}

function previewOf(row: Selectable<PreviewsTable>): PreviewRecord {
  return { sandboxId: row.sandbox_id, port: row.port, token: row.token, createdAtMs: row.created_at_ms };
}
