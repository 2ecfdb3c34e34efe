import { type Kysely, sql } from 'kysely';

/** How much output each account has stored, its own quota, and which output was dropped. */
export async function addStoredOutput(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .alterTable('executions')
    .addColumn('output_bytes', 'bigint', (column) => column.notNull().defaultTo(0))
    .execute();
  await db.schema
    .alterTable('executions')
    .addColumn('output_dropped', 'integer', (column) => column.notNull().defaultTo(0))
    .execute();
  await db.schema.alterTable('accounts').addColumn('limit_stored_output_mb', 'integer').execute();
  await db.schema
    .alterTable('accounts')
    .addColumn('stored_output_bytes', 'bigint', (column) => column.notNull().defaultTo(0))
    .execute();
  await sql`update executions set output_bytes = length(stdout) + length(stderr)
    where length(stdout) + length(stderr) > 0`.execute(db);
  await sql`update accounts set stored_output_bytes =
    (select coalesce(sum(output_bytes), 0) from executions where account_id = accounts.id)`.execute(db);
  // The oldest output of an account is looked up whenever it exceeds its quota.
  await sql`create index executions_stored_output on executions (account_id, finished_at_ms)
    where output_bytes > 0`.execute(db);
}
