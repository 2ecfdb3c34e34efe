import { closeSync, openSync } from 'node:fs';
import { Kysely, SqliteDialect } from 'kysely';
import type { Store } from '../../core/ports/store/store.ts';
import { migrate } from '../migrations/migrate.ts';
import { StoreOpenError } from '../open-error.ts';
import type { Schema } from '../schema.ts';
import { Database } from '../sql/database.ts';
import { SqlStore } from '../sql/store.ts';
import { NodeSqlite } from './node-sqlite.ts';

const inMemory = ':memory:';

/**
 * Opens the SQLite store at a path (`:memory:` for a passing one) with the newest schema. The file is its owner's alone. Throws a
 * StoreOpenError that says what to do.
 */
export async function openSqliteStore(path: string): Promise<Store> {
  try {
    return await open(path);
  } catch (error) {
    if (error instanceof StoreOpenError || !(error instanceof Error)) throw error;
    const advice = 'Make the file readable and writable for this user, or restore it from a backup.';
    throw new StoreOpenError(`The database ${path} cannot be used: ${error.message}. ${advice}`, { cause: error });
  }
}

async function open(path: string): Promise<Store> {
  if (path !== inMemory) closeSync(openSync(path, 'a', 0o600));
  const db = new Kysely<Schema>({ dialect: new SqliteDialect({ database: new NodeSqlite(path) }) });
  try {
    await migrate(db, { bytes: 'blob' });
  } catch (error) {
    await db.destroy();
    throw error;
  }
  // One connection writes, so no transaction meets another; one reads, so that reads wait for none of them.
  const reader = path === inMemory ? {} : { reader: new NodeSqlite(path, { readOnly: true }) };
  return new SqlStore(new Database({ db, isLostRace: () => false, ...reader }));
}
