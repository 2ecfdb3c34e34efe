import { type Kysely, sql } from 'kysely';

/** When a charged sandbox was created, so that usage counts it by its creation after retention removed its record. */
export async function addCreationToLedger(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('ledger_entries').addColumn('sandbox_created_at_ms', 'bigint').execute();
  // Of a record that is gone, the start of the charged run comes closest: a sandbox is ready seconds after its creation.
  await sql`update ledger_entries set sandbox_created_at_ms = coalesce(
    (select sandboxes.created_at_ms from sandboxes where sandboxes.id = ledger_entries.sandbox_id),
    created_at_ms - coalesce(runtime_ms, 0)) where kind = 'usage'`.execute(db);
  await db.schema
    .createIndex('ledger_entries_account_sandbox_created_at')
    .on('ledger_entries')
    .columns(['account_id', 'sandbox_created_at_ms'])
    .execute();
}
