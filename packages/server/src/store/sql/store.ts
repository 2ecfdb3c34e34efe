import type { Store } from '../../core/ports/store/store.ts';
import { SqlAccounts } from './accounts.ts';
import type { Database } from './database.ts';
import { SqlExecutions } from './executions.ts';
import { SqlLedger } from './ledger.ts';
import { SqlOwner } from './owner.ts';
import { SqlPreviews } from './previews.ts';
import { SqlRetention } from './retention.ts';
import { SqlSandboxes } from './sandboxes.ts';

/** The store over any engine that Kysely speaks to. */
export class SqlStore implements Store {
  readonly accounts: SqlAccounts;
  readonly sandboxes: SqlSandboxes;
  readonly executions: SqlExecutions;
  readonly ledger: SqlLedger;
  readonly previews: SqlPreviews;
  readonly retention: SqlRetention;
  readonly owner: SqlOwner;
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
    this.accounts = new SqlAccounts(database);
    this.sandboxes = new SqlSandboxes(database);
    this.executions = new SqlExecutions(database);
    this.ledger = new SqlLedger(database);
    this.previews = new SqlPreviews(database);
    this.retention = new SqlRetention(database);
    this.owner = new SqlOwner(database);
  }

  close(): Promise<void> {
    return this.#database.close();
  }
}
