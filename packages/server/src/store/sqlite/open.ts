import { closeSync, openSync } from 'node:fs';
import { Kysely, SqliteDialect } from 'kysely';
import type { Store } from '../../core/ports/store/store.ts';
import { migrate } from '../migrations/migrate.ts';
import type { Schema } from '../schema.ts';
import { Database, type OnStoreFailure, StoreOpenError } from '../sql/database.ts';
import { SqlStore } from '../sql/sql-store.ts';
import { NodeSqlite } from './node-sqlite.ts';

const inMemory = ':memory:';

/**
 * Opens the SQLite database at a path (`:memory:` for a temporary one) and migrates it to the newest schema. Only the owner can read the
 * file. Throws a StoreOpenError.
 */
export async function openSqliteStore(path: string, onFailure?: OnStoreFailure): Promise<Store> {
  try {
    return await open(path, onFailure);
  } catch (error) {
    if (error instanceof StoreOpenError || !(error instanceof Error)) throw error;
    const advice = 'Make the file readable and writable for this user, or restore it from a backup.';
    const isTemporary = 'errcode' in error && temporaryCodes.has(Number(error.errcode) & 0xff);
    throw new StoreOpenError(`The database ${path} cannot be used: ${error.message}. ${advice}`, {
      cause: error,
      isTemporary,
    });
  }
}

/** SQLITE_BUSY and SQLITE_FULL: another program reads the file, e.g. for a backup, or the disk is full. */
const temporaryCodes = new Set([5, 13]);

async function open(path: string, onFailure: OnStoreFailure | undefined): Promise<Store> {
  if (path !== inMemory) closeSync(openSync(path, 'a', 0o600));
  const db = new Kysely<Schema>({ dialect: new SqliteDialect({ database: new NodeSqlite(path) }) });
  try {
    await migrate(db, { bytes: 'blob' });
  } catch (error) {
    await db.destroy();
    throw error;
  }
  // One connection writes, so transactions never conflict. Another one reads, so that reads never wait for them.
  const reader = path === inMemory ? {} : { reader: new NodeSqlite(path, { readOnly: true }) };
  return new SqlStore(new Database({ db, isConflict: () => false, onFailure, ...reader }));
}
