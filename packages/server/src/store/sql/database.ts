import type { Compilable, IsolationLevel, Kysely, Transaction } from 'kysely';
import type { Schema } from '../schema.ts';

/** How often a transaction that conflicts with others is tried. */
const maxTries = 5;

/** A database that cannot be used. The one-line message says why and what to do, and holds no secret. */
export class StoreOpenError extends Error {
  /** Whether a later attempt may succeed though nobody changed a setting, e.g. once a server that is being restarted is back. */
  readonly isTemporary: boolean;

  constructor(message: string, { isTemporary = false, ...options }: ErrorOptions & { isTemporary?: boolean } = {}) {
    super(message, options);
    this.name = 'StoreOpenError';
    this.isTemporary = isTemporary;
  }
}

/** Called with the store method, e.g. `sandboxes.find`, for every call that fails. A write may have taken effect all the same. */
export type OnStoreFailure = (operation: string) => void;

export interface DatabaseOptions {
  readonly db: Kysely<Schema>;
  /** Whether a transaction failed only because of a concurrent one, so that a retry may succeed. */
  readonly isConflict: (error: unknown) => boolean;
  /** A faster path for prepared reads, if the engine has one. */
  readonly reader?: Reader;
  readonly onFailure?: OnStoreFailure | undefined;
}

/** Reads committed data, outside of any transaction. */
interface Reader {
  read(sql: string, values: readonly unknown[]): readonly unknown[];
  close(): void;
}

/** The database of one engine. Every query runs through one of its three methods, under the name of the store method it serves. */
export class Database {
  readonly #db: Kysely<Schema>;
  readonly #isConflict;
  readonly #reader;
  readonly #onFailure;

  constructor({ db, isConflict, reader, onFailure }: DatabaseOptions) {
    this.#db = db;
    this.#isConflict = isConflict;
    this.#reader = reader;
    this.#onFailure = onFailure;
  }

  /** Runs queries, each by itself. */
  async run<Result>(operation: string, work: (db: Kysely<Schema>) => Promise<Result>): Promise<Result> {
    try {
      return await work(this.#db);
    } catch (error) {
      this.#onFailure?.(operation);
      throw error;
    }
  }

  /** Runs work in one transaction, rolled back if it throws. The work may run more than once. */
  transact<Result>(
    operation: string,
    work: (transaction: Transaction<Schema>) => Promise<Result>,
    isolationLevel?: IsolationLevel,
  ): Promise<Result> {
    return this.run(operation, async (db) => {
      for (let tries = 1; ; tries++) {
        try {
          const transaction = db.transaction();
          return await (isolationLevel ? transaction.setIsolationLevel(isolationLevel) : transaction).execute(work);
        } catch (error) {
          if (tries >= maxTries || !this.#isConflict(error)) throw error;
        }
      }
    });
  }

  /** Compiles a read once; each call of the returned function runs it with other values. */
  prepare<Row, Values extends readonly unknown[]>(
    operation: string,
    build: (db: Kysely<Schema>, ...values: Values) => Compilable<Row>,
  ): (...values: Values) => Promise<readonly Row[]> {
    const placeholders = Array.from({ length: build.length - 1 }, (_, index) => new Placeholder(index));
    const compiled = build(this.#db, ...(placeholders as readonly unknown[] as Values)).compile();
    return async (...values) => {
      const parameters = compiled.parameters.map((value) =>
        value instanceof Placeholder ? values[value.index] : value,
      );
      try {
        if (this.#reader) return this.#reader.read(compiled.sql, parameters) as readonly Row[];
        return (await this.#db.executeQuery<Row>({ ...compiled, parameters })).rows;
      } catch (error) {
        this.#onFailure?.(operation);
        throw error;
      }
    };
  }

  close(): Promise<void> {
    this.#reader?.close();
    return this.#db.destroy();
  }
}

/** Stands for a value of a prepared read. */
class Placeholder {
  readonly index: number;

  constructor(index: number) {
    this.index = index;
  }
}
