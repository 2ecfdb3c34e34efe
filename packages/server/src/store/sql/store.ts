import type { Kysely } from 'kysely';
import type { Store } from '../../core/ports/store.ts';
import type { Schema } from '../schema.ts';
import { SqlAccounts } from './accounts.ts';
import { SqlExecutions } from './executions.ts';
import { SqlSandboxes } from './sandboxes.ts';

/** The store over any engine that Kysely speaks to. */
export class SqlStore implements Store {
  readonly accounts: SqlAccounts;
  readonly sandboxes: SqlSandboxes;
  readonly executions: SqlExecutions;
  readonly #db: Kysely<Schema>;

  constructor(db: Kysely<Schema>) {
    this.#db = db;
    this.accounts = new SqlAccounts(db);
    this.sandboxes = new SqlSandboxes(db);
    this.executions = new SqlExecutions(db);
  }

  close(): Promise<void> {
    return this.#db.destroy();
  }
}
