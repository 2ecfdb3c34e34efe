import type { Kysely } from 'kysely';

/** Executions whose output is read while they run, and how much a command wrote, captured or not. */
export async function addLiveExecutions(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .alterTable('executions')
    .addColumn('live', 'integer', (column) => column.notNull().defaultTo(0))
    .execute();
  await db.schema.alterTable('executions').addColumn('written_bytes', 'bigint').execute();
}
