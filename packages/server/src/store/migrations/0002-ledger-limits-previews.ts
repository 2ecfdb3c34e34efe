import { type Kysely, sql } from 'kysely';

interface Before {
  accounts: { id: string; email: string; email_key: string };
}

const limitColumns = [
  'limit_requests_per_minute',
  'limit_creations_per_minute',
  'limit_concurrent_sandboxes',
  'limit_max_timeout_minutes',
  'limit_api_keys',
] as const;

/** Money as an append-only ledger, limits of single accounts, prices of sandboxes, ports that are reachable from outside. */
export async function addLedgerLimitsPreviews(db: Kysely<unknown>): Promise<void> {
  await extendAccounts(db);
  await extendSandboxes(db);
  await createLedger(db);
  await createPreviews(db);
}

async function extendAccounts(db: Kysely<Before>): Promise<void> {
  await db.schema
    .alterTable('accounts')
    .addColumn('email_key', 'text', (column) => column.notNull().defaultTo(''))
    .execute();
  await db.schema
    .alterTable('accounts')
    .addColumn('balance_micro_usd', 'bigint', (column) => column.notNull().defaultTo(0))
    .execute();
  for (const column of limitColumns) await db.schema.alterTable('accounts').addColumn(column, 'integer').execute();
  // Engines differ in what they take for the lower case of letters beyond ASCII, so it is made here.
  for (const { id, email } of await db.selectFrom('accounts').select(['id', 'email']).execute()) {
    await db.updateTable('accounts').set({ email_key: email.toLowerCase() }).where('id', '=', id).execute();
  }
  await db.schema.createIndex('accounts_by_email_key').on('accounts').column('email_key').unique().execute();
}

async function extendSandboxes(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .alterTable('sandboxes')
    .addColumn('price_micro_usd_per_hour', 'bigint', (column) => column.notNull().defaultTo(0))
    .execute();
  // The prices that held before they were kept.
  await sql`update sandboxes set price_micro_usd_per_hour =
    case size when 'small' then 50000 when 'medium' then 100000 else 200000 end`.execute(db);
  // For the usual list: an account has few sandboxes beside all those that are gone.
  await sql`create index sandboxes_not_deleted on sandboxes (account_id, created_at_ms)
    where status <> 'deleted'`.execute(db);
  await db.schema.createIndex('sandboxes_account_status').on('sandboxes').columns(['account_id', 'status']).execute();
}

async function createLedger(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('ledger_entries')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('account_id', 'text', (column) => column.notNull().references('accounts.id'))
    .addColumn('kind', 'text', (column) => column.notNull())
    .addColumn('amount_micro_usd', 'bigint', (column) => column.notNull())
    // Not a reference: an entry outlives the record of its sandbox.
    .addColumn('sandbox_id', 'text', (column) => column.unique())
    .addColumn('runtime_ms', 'bigint')
    .addColumn('note', 'text', (column) => column.notNull())
    .addColumn('created_at_ms', 'bigint', (column) => column.notNull())
    .execute();
  await db.schema
    .createIndex('ledger_entries_account_created_at')
    .on('ledger_entries')
    .columns(['account_id', 'created_at_ms'])
    .execute();
  await sql`insert into ledger_entries (id, account_id, kind, amount_micro_usd, note, created_at_ms)
    select 'opening:' || id, id, 'credit', opening_credit_micro_usd, 'opening credit', created_at_ms
    from accounts where opening_credit_micro_usd <> 0`.execute(db);
  await sql`update accounts set balance_micro_usd = opening_credit_micro_usd`.execute(db);
  await db.schema.alterTable('accounts').dropColumn('opening_credit_micro_usd').execute();
}

async function createPreviews(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('previews')
    .addColumn('sandbox_id', 'text', (column) => column.notNull().references('sandboxes.id'))
    .addColumn('port', 'integer', (column) => column.notNull())
    .addColumn('token', 'text', (column) => column.notNull().unique())
    .addColumn('created_at_ms', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('previews_primary_key', ['sandbox_id', 'port'])
    .execute();
}
