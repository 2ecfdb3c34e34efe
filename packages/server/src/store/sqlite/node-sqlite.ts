import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import type { SqliteDatabase, SqliteStatement } from 'kysely';

const maxCachedStatements = 200;
const busyTimeoutMs = 5000;

/** Node's SQLite for Kysely's dialect. Prepared statements are cached. */
export class NodeSqlite implements SqliteDatabase {
  readonly #database: DatabaseSync;
  readonly #statements = new Map<string, SqliteStatement>();
  readonly #reads = new Map<string, (values: readonly unknown[]) => readonly unknown[]>();

  constructor(path: string, { readOnly = false } = {}) {
    this.#database = new DatabaseSync(path, { timeout: busyTimeoutMs, enableForeignKeyConstraints: true, readOnly });
    // FULL: an acknowledged commit is on disk and survives a power cut.
    if (!readOnly) this.#database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;');
  }

  prepare(sql: string): SqliteStatement {
    return cached(this.#statements, sql, () => adapt(this.#database.prepare(sql)));
  }

  read(sql: string, values: readonly unknown[]): readonly unknown[] {
    return cached(this.#reads, sql, () => readerOf(this.#database.prepare(sql)))(values);
  }

  close(): void {
    this.#statements.clear();
    this.#reads.clear();
    this.#database.close();
  }
}

function cached<Value>(cache: Map<string, Value>, sql: string, make: () => Value): Value {
  const known = cache.get(sql);
  if (known !== undefined) return known;
  const made = make();
  if (cache.size >= maxCachedStatements) cache.clear();
  cache.set(sql, made);
  return made;
}

const bound = (parameters: readonly unknown[]) => parameters as SQLInputValue[];

/** Reads rows as arrays and names the columns here: SQLite would create the column names for every row, which costs more than the read. */
function readerOf(statement: StatementSync): (values: readonly unknown[]) => readonly unknown[] {
  const names = statement.columns().map(({ name }) => name);
  statement.setReturnArrays(true);
  const rowOf = (columns: readonly unknown[]) => {
    const row: Record<string, unknown> = {};
    // An indexed loop, because this runs on every request.
    for (let index = 0; index < names.length; index += 1) row[names[index] ?? ''] = columns[index];
    return row;
  };
  return (values) => (statement.all(...bound(values)) as readonly unknown[] as readonly unknown[][]).map(rowOf);
}

function adapt(statement: StatementSync): SqliteStatement {
  return {
    reader: statement.columns().length > 0,
    all: (parameters) => statement.all(...bound(parameters)),
    run: (parameters) => statement.run(...bound(parameters)),
    iterate: (parameters) => statement.iterate(...bound(parameters)),
  };
}
