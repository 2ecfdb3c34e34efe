import type { Kysely } from 'kysely';

/** Who changed what, when, and with which result. */
export async function addAuditTrail(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('audit_events')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('at_ms', 'bigint', (column) => column.notNull())
    .addColumn('key_id', 'text')
    .addColumn('source_address', 'text')
    .addColumn('operator', 'text')
    .addColumn('account_id', 'text')
    .addColumn('action', 'text', (column) => column.notNull())
    .addColumn('target', 'text')
    .addColumn('details', 'text')
    .addColumn('request_id', 'text')
    .addColumn('status', 'integer')
    .addColumn('error_type', 'text')
    .execute();
  await db.schema.createIndex('audit_events_at').on('audit_events').column('at_ms').execute();
  for (const column of ['account_id', 'target']) {
    await db.schema.createIndex(`audit_events_${column}`).on('audit_events').columns([column, 'at_ms']).execute();
  }
}
