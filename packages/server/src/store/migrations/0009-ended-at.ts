import { type Kysely, sql } from 'kysely';

/** When sandboxes ended. */
export async function addEndedAt(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('sandboxes').addColumn('ended_at_ms', 'bigint').execute();
  // A run ended when its charged time did. A sandbox that never ran has at most the time when it was deleted.
  await sql`update sandboxes set ended_at_ms = coalesce(
    (select sandboxes.ready_at_ms + ledger_entries.runtime_ms from ledger_entries
      where ledger_entries.sandbox_id = sandboxes.id),
    deleted_at_ms) where status not in ('provisioning', 'running')`.execute(db);
}
