import { Kysely, PostgresDialect, sql } from 'kysely';
import pg from 'pg';
import type { Log } from '../../core/ports/runtime.ts';
import type { Store } from '../../core/ports/store/store.ts';
import { migrate } from '../migrations/migrate.ts';
import type { Schema } from '../schema.ts';
import { Database, type OnStoreFailure, StoreOpenError } from '../sql/database.ts';
import { SqlStore } from '../sql/sql-store.ts';
import { DeadlinePool, type PoolDeadlines, type PoolOptions } from './connection-pool.ts';
import { explain, placeOf } from './explain.ts';

export interface PostgresOptions {
  readonly log: Log;
  readonly deadlines?: Partial<PoolDeadlines>;
  readonly onFailure?: OnStoreFailure | undefined;
}

const maxConnections = 20;
export const defaultPoolDeadlines: PoolDeadlines = {
  connectMs: 5_000,
  statementMs: 8_000,
  idleInTransactionMs: 10_000,
  answerMs: 10_000,
  closeMs: 5_000,
};
/** A migration rewrites tables, and waits while another service that starts at the same time runs its migration. */
const migrationMs = 15 * 60_000;
const migrationDeadlines = { statementMs: migrationMs, answerMs: migrationMs + 5_000, idleInTransactionMs: 60_000 };

/** Opens a PostgreSQL database and migrates it to the newest schema. Throws a StoreOpenError. */
export async function openPostgresStore(url: string, options: PostgresOptions): Promise<Store> {
  const place = placeOf(url);
  const pool = { url, log: options.log, deadlines: { ...defaultPoolDeadlines, ...options.deadlines } };
  try {
    await migrateOnce({ ...pool, maxConnections: 2, deadlines: { ...pool.deadlines, ...migrationDeadlines } });
  } catch (error) {
    throw explain(error, place);
  }
  return new SqlStore(
    new Database({ db: connect({ ...pool, maxConnections }), isConflict, onFailure: options.onFailure }),
  );
}

async function migrateOnce(options: PoolOptions): Promise<void> {
  const db = connect(options);
  try {
    await requireUtf8(db);
    await migrate(db, { bytes: 'bytea' });
  } finally {
    await db.destroy();
  }
}

function connect(options: PoolOptions): Kysely<Schema> {
  return new Kysely<Schema>({ dialect: new PostgresDialect({ pool: new DeadlinePool(options) }) });
}

async function requireUtf8(db: Kysely<Schema>): Promise<void> {
  const { rows } = await sql<{ server_encoding: string }>`show server_encoding`.execute(db);
  const encoding = rows[0]?.server_encoding;
  if (encoding === 'UTF8') return;
  throw new StoreOpenError(
    `The PostgreSQL database has the encoding ${encoding}. Create one with UTF8: createdb --encoding UTF8 --template template0 …`,
  );
}

/** Serialization failures and deadlocks, where the server rolled the transaction back in favour of another one. */
function isConflict(error: unknown): boolean {
  return error instanceof pg.DatabaseError && (error.code === '40001' || error.code === '40P01');
}
