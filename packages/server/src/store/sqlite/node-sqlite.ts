import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import type { SqliteDatabase, SqliteStatement } from 'kysely';

const maxKeptStatements = 200;
const busyTimeoutMs = 5000;

/** Node's own SQLite in the shape that Kysely's dialect takes. Statements are prepared once and kept. */
export class NodeSqlite implements SqliteDatabase {
  readonly #database: DatabaseSync;
  readonly #statements = new Map<string, SqliteStatement>();

  constructor(path: string, { readOnly = false } = {}) {
    this.#database = new DatabaseSync(path, { timeout: busyTimeoutMs, enableForeignKeyConstraints: true, readOnly });
    // FULL: what was acknowledged is on the disk, so that a power cut takes nothing of it back.
    if (!readOnly) this.#database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;');
  }

  prepare(sql: string): SqliteStatement {
    const kept = this.#statements.get(sql);
    if (kept !== undefined) return kept;
    const statement = adapt(this.#database.prepare(sql));
    if (this.#statements.size >= maxKeptStatements) this.#statements.clear();
    this.#statements.set(sql, statement);
    return statement;
  }

  read(sql: string, values: readonly unknown[]): readonly unknown[] {
    return this.prepare(sql).all(values);
  }

  close(): void {
    this.#statements.clear();
    this.#database.close();
  }
}

function adapt(statement: StatementSync): SqliteStatement {
  const bound = (parameters: readonly unknown[]) => parameters as SQLInputValue[];
  return {
    reader: statement.columns().length > 0,
    all: (parameters) => statement.all(...bound(parameters)),
    run: (parameters) => statement.run(...bound(parameters)),
    iterate: (parameters) => statement.iterate(...bound(parameters)),
  };
}
