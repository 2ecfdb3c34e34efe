import type { Kysely } from 'kysely';

/** Signing in to the dashboard, and names and last uses of API keys. */
export async function addSignIn(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('sign_ins')
    .addColumn('account_id', 'text', (column) => column.primaryKey().references('accounts.id'))
    .addColumn('password_hash', 'text')
    .addColumn('totp_secret', 'text')
    .addColumn('totp_last_period', 'bigint')
    .addColumn('totp_pending_secret', 'text')
    .execute();
  await db.schema
    .createTable('recovery_codes')
    .addColumn('account_id', 'text', (column) => column.notNull().references('accounts.id'))
    .addColumn('hash', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('recovery_codes_account_hash', ['account_id', 'hash'])
    .execute();
  await db.schema
    .createTable('sign_in_links')
    .addColumn('account_id', 'text', (column) => column.primaryKey().references('accounts.id'))
    .addColumn('hash', 'text', (column) => column.notNull().unique())
    .addColumn('expires_at_ms', 'bigint', (column) => column.notNull())
    .execute();
  await db.schema
    .createTable('sessions')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('hash', 'text', (column) => column.notNull().unique())
    .addColumn('account_id', 'text', (column) => column.notNull().references('accounts.id'))
    .addColumn('created_at_ms', 'bigint', (column) => column.notNull())
    .addColumn('last_used_at_ms', 'bigint', (column) => column.notNull())
    .addColumn('may_set_password_until_ms', 'bigint')
    .addColumn('source_address', 'text', (column) => column.notNull())
    .addColumn('user_agent', 'text')
    .execute();
  await db.schema.createIndex('sessions_account').on('sessions').columns(['account_id', 'last_used_at_ms']).execute();

  await db.schema.alterTable('api_keys').addColumn('name', 'text').execute();
  await db.schema.alterTable('api_keys').addColumn('last_used_at_ms', 'bigint').execute();
  await db.schema.alterTable('audit_events').addColumn('session_id', 'text').execute();
}
