import { type Kysely, sql } from 'kysely';
import type { AccountFunds, LedgerStore, LedgerSummary, NewCredit } from '../../core/ports/store/ledger-store.ts';
import type { Schema } from '../schema.ts';
import type { Database } from './database.ts';
import { writeCredit } from './ledger-entries.ts';
import { runningOf } from './running.ts';

/** The ledger in SQL. What belongs together is read by one statement, so it is of one moment. */
export class SqlLedger implements LedgerStore {
  readonly #database: Database;
  readonly #funds;
  readonly #summary;

  constructor(database: Database) {
    this.#database = database;
    this.#funds = database.prepare(selectFunds);
    this.#summary = database.prepare(selectSummary);
  }

  addCredit(credit: NewCredit): Promise<void> {
    return this.#database.transact((transaction) => writeCredit(transaction, credit));
  }

  async funds(accountId: string): Promise<AccountFunds> {
    const rows = await this.#funds(accountId);
    return { settledMicroUsd: required(rows[0], accountId).balance_micro_usd, running: runningOf(rows) };
  }

  async summary(accountId: string, sinceMs: number): Promise<LedgerSummary> {
    const rows = await this.#summary(accountId, sinceMs);
    const first = required(rows[0], accountId);
    return {
      settledMicroUsd: first.balance_micro_usd,
      running: runningOf(rows),
      spentMicroUsd: 0 - first.usage_micro_usd,
      addedMicroUsd: first.credit_micro_usd,
      runtimeMs: first.runtime_ms,
      sandboxesCreated: first.sandboxes_created + first.forgotten,
    };
  }
}

/** The balance on every row, and a row for each running sandbox; one row without a sandbox if none runs. */
function selectFunds(db: Kysely<Schema>, accountId: string) {
  return db
    .selectFrom('accounts')
    .leftJoin('sandboxes', (join) =>
      join.onRef('sandboxes.account_id', '=', 'accounts.id').on('sandboxes.status', '=', 'running'),
    )
    .select(['accounts.balance_micro_usd', 'sandboxes.ready_at_ms', 'sandboxes.expires_at_ms'])
    .select('sandboxes.price_micro_usd_per_hour')
    .where('accounts.id', '=', accountId);
}

function selectSummary(db: Kysely<Schema>, accountId: string, sinceMs: number) {
  const entries = db
    .selectFrom('ledger_entries')
    .where('account_id', '=', accountId)
    .where('created_at_ms', '>=', sinceMs)
    .select([
      sumWhere('usage', 'amount_micro_usd').as('usage_micro_usd'),
      sumWhere('credit', 'amount_micro_usd').as('credit_micro_usd'),
      sumWhere('usage', 'runtime_ms').as('runtime_ms'),
      // A record that retention removed was a sandbox all the same.
      sql<number>`cast(count(case when sandbox_id is not null and not exists
        (select 1 from sandboxes where sandboxes.id = ledger_entries.sandbox_id) then 1 end) as bigint)`.as(
        'forgotten',
      ),
    ]);
  const created = db
    .selectFrom('sandboxes')
    .where('account_id', '=', accountId)
    .where('created_at_ms', '>=', sinceMs)
    .select(sql<number>`cast(count(*) as bigint)`.as('sandboxes_created'));
  return selectFunds(db, accountId)
    .innerJoin(entries.as('entries'), (join) => join.onTrue())
    .innerJoin(created.as('created'), (join) => join.onTrue())
    .select(['usage_micro_usd', 'credit_micro_usd', 'entries.runtime_ms', 'sandboxes_created', 'entries.forgotten']);
}

/** A sum as a 64-bit integer, zero of nothing. */
function sumWhere(kind: 'usage' | 'credit', column: 'amount_micro_usd' | 'runtime_ms') {
  return sql<number>`cast(coalesce(sum(case when kind = ${sql.lit(kind)} then ${sql.ref(column)} end), 0) as bigint)`;
}

function required<Row>(row: Row | undefined, accountId: string): Row {
  if (row === undefined) throw new Error(`no account ${accountId}`);
  return row;
}
