import { closeSync, openSync } from 'node:fs';
import { Kysely, SqliteDialect } from 'kysely';
import type { Store } from '../../core/ports/store.ts';
import { migrate } from '../migrations/migrate.ts';
import type { Schema } from '../schema.ts';
import { SqlStore } from '../sql/store.ts';
import { NodeSqlite } from './node-sqlite.ts';

/** Opens the SQLite store at a path (`:memory:` for a passing one) with the newest schema. The file is its owner's alone. */
export async function openSqliteStore(path: string): Promise<Store> {
  if (path !== ':memory:') closeSync(openSync(path, 'a', 0o600));
  const db = new Kysely<Schema>({ dialect: new SqliteDialect({ database: new NodeSqlite(path) }) });
  try {
    await migrate(db, { bytes: 'blob' });
  } catch (error) {
    await db.destroy();
    throw error;
  }
  return new SqlStore(db);
}
