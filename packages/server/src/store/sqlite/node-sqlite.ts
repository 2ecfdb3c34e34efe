import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import type { SqliteDatabase, SqliteStatement } from 'kysely';

const maxKeptStatements = 200;
const busyTimeoutMs = 5000;

/** Node's own SQLite in the shape that Kysely's dialect takes. Statements are prepared once and kept. */
export class NodeSqlite implements SqliteDatabase {
  readonly #database: DatabaseSync;
  readonly #statements = new Map<string, SqliteStatement>();
  readonly #reads = new Map<string, (values: readonly unknown[]) => readonly unknown[]>();

  constructor(path: string, { readOnly = false } = {}) {
    this.#database = new DatabaseSync(path, { timeout: busyTimeoutMs, enableForeignKeyConstraints: true, readOnly });
    // FULL: what was acknowledged is on the disk, so that a power cut takes nothing of it back.
    if (!readOnly) this.#database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;');
  }

  prepare(sql: string): SqliteStatement {
    return keptOr(this.#statements, sql, () => adapt(this.#database.prepare(sql)));
  }

  read(sql: string, values: readonly unknown[]): readonly unknown[] {
    return keptOr(this.#reads, sql, () => readerOf(this.#database.prepare(sql)))(values);
  }

  close(): void {
    this.#statements.clear();
    this.#reads.clear();
    this.#database.close();
  }
}

/** What is kept under a text of SQL, made if there is none. */
function keptOr<Kept>(kept: Map<string, Kept>, sql: string, make: () => Kept): Kept {
  const known = kept.get(sql);
  if (known !== undefined) return known;
  const made = make();
  if (kept.size >= maxKeptStatements) kept.clear();
  kept.set(sql, made);
  return made;
}

const bound = (parameters: readonly unknown[]) => parameters as SQLInputValue[];

/** Reads rows. SQLite gives them as arrays: it makes the names of the columns anew for each object, which costs more than the read. */
function readerOf(statement: StatementSync): (values: readonly unknown[]) => readonly unknown[] {
  const names = statement.columns().map(({ name }) => name);
  statement.setReturnArrays(true);
  const rowOf = (columns: readonly unknown[]) => {
    const row: Record<string, unknown> = {};
    // Counted, not iterated: every request comes by here.
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
