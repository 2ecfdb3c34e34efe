import type { Compilable, IsolationLevel, Kysely, Transaction } from 'kysely';
import type { Schema } from '../schema.ts';

/** How often a transaction runs that loses against others. */
const maxTries = 5;

export interface DatabaseOptions {
  readonly db: Kysely<Schema>;
  /** Whether a transaction failed only because of another one, so that the same again may succeed. */
  readonly isLostRace: (error: unknown) => boolean;
  /** The short way of prepared reads, if the engine has one. */
  readonly reader?: Reader;
}

/** Reads what is committed, beside every transaction. */
export interface Reader {
  read(sql: string, values: readonly unknown[]): readonly unknown[];
  close(): void;
}

/** One engine's database: queries, queries that are compiled once, and transactions that are tried again when they lose a race. */
export class Database {
  readonly db: Kysely<Schema>;
  readonly #isLostRace;
  readonly #reader;

  constructor({ db, isLostRace, reader }: DatabaseOptions) {
    this.db = db;
    this.#isLostRace = isLostRace;
    this.#reader = reader;
  }

  /** Runs the work in one transaction, kept if it gives a value and undone if it throws. It may run more than once. */
  async transact<Result>(
    work: (transaction: Transaction<Schema>) => Promise<Result>,
    isolationLevel?: IsolationLevel,
  ): Promise<Result> {
    for (let tries = 1; ; tries++) {
      try {
        const transaction = this.db.transaction();
        return await (isolationLevel ? transaction.setIsolationLevel(isolationLevel) : transaction).execute(work);
      } catch (error) {
        if (tries >= maxTries || !this.#isLostRace(error)) throw error;
      }
    }
  }

  /** Compiles a read now, once; each call runs it with its own values. */
  prepare<Row, Values extends readonly unknown[]>(
    build: (db: Kysely<Schema>, ...values: Values) => Compilable<Row>,
  ): (...values: Values) => Promise<readonly Row[]> {
    const places = Array.from({ length: build.length - 1 }, (_, index) => new Place(index));
    const compiled = build(this.db, ...(places as readonly unknown[] as Values)).compile();
    return async (...values) => {
      const parameters = compiled.parameters.map((value) => (value instanceof Place ? values[value.index] : value));
      if (this.#reader) return this.#reader.read(compiled.sql, parameters) as readonly Row[];
      return (await this.db.executeQuery<Row>({ ...compiled, parameters })).rows;
    };
  }

  close(): Promise<void> {
    this.#reader?.close();
    return this.db.destroy();
  }
}

/** Stands for a value that is not known yet. */
class Place {
  readonly index: number;

  constructor(index: number) {
    this.index = index;
  }
}
