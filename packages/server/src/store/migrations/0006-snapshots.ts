import type { Kysely } from 'kysely';

/** Snapshots, what sandboxes were copied from, charges for storage, and the quotas of single accounts. */
export async function addSnapshots(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('snapshots')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('account_id', 'text', (column) => column.notNull().references('accounts.id'))
    // Retention keeps the record of a sandbox for as long as there is a snapshot of it.
    .addColumn('sandbox_id', 'text', (column) => column.notNull().references('sandboxes.id'))
    .addColumn('name', 'text')
    .addColumn('alias', 'text')
    .addColumn('size', 'text', (column) => column.notNull())
    .addColumn('status', 'text', (column) => column.notNull())
    .addColumn('bytes', 'bigint', (column) => column.notNull())
    .addColumn('idempotency_key', 'text')
    .addColumn('price_micro_usd_per_gb_month', 'bigint', (column) => column.notNull())
    .addColumn('charged_until_ms', 'bigint', (column) => column.notNull())
    .addColumn('created_at_ms', 'bigint', (column) => column.notNull())
    .addUniqueConstraint('snapshots_account_created_at', ['account_id', 'created_at_ms'])
    .addUniqueConstraint('snapshots_account_idempotency_key', ['account_id', 'idempotency_key'])
    .addUniqueConstraint('snapshots_account_alias', ['account_id', 'alias'])
    .execute();
  await db.schema.createIndex('snapshots_sandbox').on('snapshots').column('sandbox_id').execute();

  // Not references: retention removes sandboxes, and callers delete snapshots.
  await db.schema.alterTable('sandboxes').addColumn('origin_sandbox_id', 'text').execute();
  await db.schema.alterTable('sandboxes').addColumn('origin_snapshot_id', 'text').execute();
  await db.schema.alterTable('sandboxes').addColumn('origin_at_ms', 'bigint').execute();
  await db.schema.createIndex('sandboxes_origin').on('sandboxes').column('origin_sandbox_id').execute();

  await db.schema.alterTable('ledger_entries').addColumn('snapshot_id', 'text').execute();
  for (const column of ['limit_snapshots', 'limit_snapshot_storage_mb']) {
    await db.schema.alterTable('accounts').addColumn(column, 'integer').execute();
  }
}
