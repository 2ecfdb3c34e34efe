import type { Kysely } from 'kysely';
import type { MigrationEngine } from '../schema.ts';

/** The first tables: accounts with their keys, sandboxes, executions. */
export async function createFirstTables(db: Kysely<unknown>, { bytes }: MigrationEngine): Promise<void> {
  await db.schema
    .createTable('accounts')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('email', 'text', (column) => column.notNull().unique())
    .addColumn('suspended', 'integer', (column) => column.notNull())
    .addColumn('opening_credit_micro_usd', 'bigint', (column) => column.notNull())
    .addColumn('created_at_ms', 'bigint', (column) => column.notNull())
    .execute();

  await db.schema
    .createTable('api_keys')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('account_id', 'text', (column) => column.notNull().references('accounts.id'))
    .addColumn('hash', 'text', (column) => column.notNull().unique())
    .addColumn('prefix', 'text', (column) => column.notNull())
    .addColumn('created_at_ms', 'bigint', (column) => column.notNull())
    .addColumn('revoked_at_ms', 'bigint')
    .execute();

  await db.schema
    .createTable('sandboxes')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('account_id', 'text', (column) => column.notNull().references('accounts.id'))
    .addColumn('name', 'text')
    .addColumn('size', 'text', (column) => column.notNull())
    .addColumn('status', 'text', (column) => column.notNull())
    .addColumn('status_reason', 'text')
    .addColumn('timeout_minutes', 'integer', (column) => column.notNull())
    .addColumn('idempotency_key', 'text')
    .addColumn('created_at_ms', 'bigint', (column) => column.notNull())
    .addColumn('ready_at_ms', 'bigint')
    .addColumn('expires_at_ms', 'bigint')
    .addColumn('deleted_at_ms', 'bigint')
    .addUniqueConstraint('sandboxes_account_created_at', ['account_id', 'created_at_ms'])
    .addUniqueConstraint('sandboxes_account_idempotency_key', ['account_id', 'idempotency_key'])
    .execute();
  await db.schema
    .createIndex('sandboxes_status_expires_at')
    .on('sandboxes')
    .columns(['status', 'expires_at_ms'])
    .execute();

  await db.schema
    .createTable('executions')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('account_id', 'text', (column) => column.notNull().references('accounts.id'))
    .addColumn('sandbox_id', 'text', (column) => column.notNull().references('sandboxes.id'))
    .addColumn('status', 'text', (column) => column.notNull())
    .addColumn('exit_code', 'integer')
    .addColumn('stdout', bytes, (column) => column.notNull())
    .addColumn('stderr', bytes, (column) => column.notNull())
    .addColumn('truncated', 'integer', (column) => column.notNull())
    .addColumn('duration_ms', 'bigint')
    .addColumn('started_at_ms', 'bigint', (column) => column.notNull())
    .addColumn('finished_at_ms', 'bigint')
    .execute();
  await db.schema
    .createIndex('executions_sandbox_started_at')
    .on('executions')
    .columns(['sandbox_id', 'started_at_ms'])
    .execute();
  await db.schema.createIndex('executions_status').on('executions').column('status').execute();
}
