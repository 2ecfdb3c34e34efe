import type { OwnerStore } from '../../core/ports/store/owner-store.ts';
import type { Database } from './database.ts';

/** Whose database it is, in SQL; one row. */
export class SqlOwner implements OwnerStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async belongsTo(dataFolderId: string): Promise<boolean> {
    const { db } = this.#database;
    await db
      .insertInto('service_owner')
      .values({ one: 1, data_folder_id: dataFolderId, alive_at_ms: null })
      .onConflict((conflict) => conflict.doNothing())
      .execute();
    const owner = await db.selectFrom('service_owner').select('data_folder_id').executeTakeFirst();
    return owner?.data_folder_id === dataFolderId;
  }

  async noteAlive(nowMs: number): Promise<void> {
    await this.#database.db.updateTable('service_owner').set({ alive_at_ms: nowMs }).execute();
  }

  async lastAliveMs(): Promise<number | null> {
    const owner = await this.#database.db.selectFrom('service_owner').select('alive_at_ms').executeTakeFirst();
    return owner?.alive_at_ms ?? null;
  }
}
