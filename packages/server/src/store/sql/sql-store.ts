import { sql } from 'kysely';
import type { OwnerStore, RetentionStore, Store } from '../../core/ports/store/store.ts';
import type { Database } from './database.ts';
import { SqlAccounts } from './sql-accounts.ts';
import { SqlAudit } from './sql-audit.ts';
import { addStoredBytes, SqlExecutions } from './sql-executions.ts';
import { lockAccount, SqlLedger } from './sql-ledger.ts';
import { SqlPreviews } from './sql-previews.ts';
import { SqlSandboxes } from './sql-sandboxes.ts';
import { SqlSignIns } from './sql-sign-ins.ts';
import { SqlSnapshots } from './sql-snapshots.ts';

/** The store over any engine that Kysely supports. */
export class SqlStore implements Store {
  readonly accounts: SqlAccounts;
  readonly sandboxes: SqlSandboxes;
  readonly snapshots: SqlSnapshots;
  readonly executions: SqlExecutions;
  readonly ledger: SqlLedger;
  readonly previews: SqlPreviews;
  readonly audit: SqlAudit;
  readonly signIns: SqlSignIns;
  readonly retention: RetentionStore;
  readonly owner: OwnerStore;
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
    this.accounts = new SqlAccounts(database);
    this.sandboxes = new SqlSandboxes(database);
    this.snapshots = new SqlSnapshots(database);
    this.executions = new SqlExecutions(database);
    this.ledger = new SqlLedger(database);
    this.previews = new SqlPreviews(database);
    this.audit = new SqlAudit(database);
    this.signIns = new SqlSignIns(database);
    this.retention = new SqlRetention(database);
    this.owner = new SqlOwner(database);
  }

  close(): Promise<void> {
    return this.#database.close();
  }
}

const byKey = ([a]: readonly [string, unknown], [b]: readonly [string, unknown]) => (a < b ? -1 : 1);

/** The ledger keeps its entries forever. */
class SqlRetention implements RetentionStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  removeExecutions(endedBeforeMs: number, limit: number): Promise<number> {
    return this.#database.transact('retention.removeExecutions', async (transaction) => {
      const old = await transaction
        .selectFrom('executions')
        .select(['id', 'account_id'])
        .where('finished_at_ms', '<', endedBeforeMs)
        .where('status', '!=', 'running')
        .limit(limit)
        .execute();
      // Accounts are locked in one order, so that transactions cannot deadlock. `finish` writes an execution first, but one that is still running.
      for (const [accountId, rows] of [...Map.groupBy(old, (row) => row.account_id)].toSorted(byKey)) {
        await lockAccount(transaction, accountId);
        const ids = rows.map(({ id }) => id);
        const removed = await transaction
          .deleteFrom('executions')
          .where('id', 'in', ids)
          .returning('output_bytes')
          .execute();
        const bytes = removed.reduce((sum, row) => sum + row.output_bytes, 0);
        if (bytes > 0) await addStoredBytes(transaction, accountId, -bytes);
      }
      return old.length;
    });
  }

  removeAuditEvents(beforeMs: number, limit: number): Promise<number> {
    return this.#database.run('retention.removeAuditEvents', async (db) => {
      const old = db.selectFrom('audit_events').select('id').where('at_ms', '<', beforeMs).limit(limit);
      const { numDeletedRows } = await db.deleteFrom('audit_events').where('id', 'in', old).executeTakeFirstOrThrow();
      return Number(numDeletedRows);
    });
  }

  removeSessions(before: { readonly usedMs: number; readonly createdMs: number }, limit: number): Promise<number> {
    return this.#database.run('retention.removeSessions', async (db) => {
      const ended = db
        .selectFrom('sessions')
        .select('id')
        .where((row) =>
          row.or([row('last_used_at_ms', '<', before.usedMs), row('created_at_ms', '<', before.createdMs)]),
        )
        .limit(limit);
      const { numDeletedRows } = await db.deleteFrom('sessions').where('id', 'in', ended).executeTakeFirstOrThrow();
      return Number(numDeletedRows);
    });
  }

  removeSignInLinks(expiredBeforeMs: number, limit: number): Promise<number> {
    return this.#database.run('retention.removeSignInLinks', async (db) => {
      const expired = db
        .selectFrom('sign_in_links')
        .select('hash')
        .where('expires_at_ms', '<', expiredBeforeMs)
        .limit(limit);
      const removal = db.deleteFrom('sign_in_links').where('hash', 'in', expired);
      return Number((await removal.executeTakeFirstOrThrow()).numDeletedRows);
    });
  }

  removeSandboxes(createdBeforeMs: number, limit: number): Promise<number> {
    return this.#database.transact('retention.removeSandboxes', async (transaction) => {
      const old = await transaction
        .selectFrom('sandboxes')
        .select('id')
        .where('status', 'in', ['deleted', 'failed'])
        .where('created_at_ms', '<', createdBeforeMs)
        .where((row) => {
          const ran = row.selectFrom('executions').select(sql`1`.as('one')).whereRef('sandbox_id', '=', 'sandboxes.id');
          return row.not(row.exists(ran));
        })
        // A rollback follows the line of a sandbox through the records of those it was copied from.
        .where((row) => {
          const saved = row
            .selectFrom('snapshots')
            .select(sql`1`.as('one'))
            .whereRef('sandbox_id', '=', 'sandboxes.id');
          return row.not(row.exists(saved));
        })
        .where((row) => {
          const copies = row.selectFrom('sandboxes as copies').select(sql`1`.as('one'));
          return row.not(row.exists(copies.whereRef('copies.origin_sandbox_id', '=', 'sandboxes.id')));
        })
        .limit(limit)
        .execute();
      const ids = old.map(({ id }) => id);
      if (ids.length === 0) return 0;
      await transaction.deleteFrom('previews').where('sandbox_id', 'in', ids).execute();
      await transaction.deleteFrom('sandboxes').where('id', 'in', ids).execute();
      return ids.length;
    });
  }
}

class SqlOwner implements OwnerStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  belongsTo(dataFolderId: string): Promise<boolean> {
    return this.#database.run('owner.belongsTo', async (db) => {
      await db
        .insertInto('service_owner')
        .values({ one: 1, data_folder_id: dataFolderId, alive_at_ms: null })
        .onConflict((conflict) => conflict.doNothing())
        .execute();
      const owner = await db.selectFrom('service_owner').select('data_folder_id').executeTakeFirst();
      return owner?.data_folder_id === dataFolderId;
    });
  }

  async noteAlive(nowMs: number): Promise<void> {
    await this.#database.run('owner.noteAlive', (db) =>
      db.updateTable('service_owner').set({ alive_at_ms: nowMs }).execute(),
    );
  }

  async lastAliveMs(): Promise<number | null> {
    const owner = await this.#database.run('owner.lastAliveMs', (db) =>
      db.selectFrom('service_owner').select('alive_at_ms').executeTakeFirst(),
    );
    return owner?.alive_at_ms ?? null;
  }
}
