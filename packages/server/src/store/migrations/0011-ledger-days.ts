import { type Kysely, sql } from 'kysely';

/** What accounts were charged by UTC day and size, so that a chart of months does not read every entry of the ledger. */
export async function addLedgerDays(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('ledger_days')
    .addColumn('account_id', 'text', (column) => column.notNull().references('accounts.id'))
    .addColumn('day', 'integer', (column) => column.notNull())
    .addColumn('item', 'text', (column) => column.notNull())
    .addColumn('cost_micro_usd', 'bigint', (column) => column.notNull())
    .addColumn('runtime_ms', 'bigint', (column) => column.notNull())
    .addColumn('sandboxes', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('ledger_days_account_day_item', ['account_id', 'day', 'item'])
    .execute();
  // The ledger has no sizes: they come from the records that retention has left.
  await sql`insert into ledger_days (account_id, day, item, cost_micro_usd, runtime_ms, sandboxes)
    select entries.account_id, entries.day, entries.item, cast(sum(-entries.amount_micro_usd) as bigint),
      cast(sum(entries.runtime_ms) as bigint), cast(sum(entries.sandboxes) as bigint)
    from (select ledger_entries.account_id as account_id, ledger_entries.created_at_ms / 86400000 as day,
        case kind when 'storage' then 'storage' else coalesce(sandboxes.size, 'unknown') end as item,
        amount_micro_usd, coalesce(runtime_ms, 0) as runtime_ms, case kind when 'usage' then 1 else 0 end as sandboxes
      from ledger_entries left join sandboxes on sandboxes.id = ledger_entries.sandbox_id
      where kind in ('usage', 'storage')) as entries
    group by entries.account_id, entries.day, entries.item`.execute(db);
}
