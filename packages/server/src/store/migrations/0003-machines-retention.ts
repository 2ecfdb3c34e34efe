import type { Kysely } from 'kysely';

/** Which machine serves a sandbox, commands that ran out of memory, whose database it is, and what retention looks records up by. */
export async function addMachinesAndRetention(db: Kysely<unknown>): Promise<void> {
  // A machine had the id of its sandbox until there was a pool; null stands for that.
  await db.schema.alterTable('sandboxes').addColumn('machine_id', 'text').execute();
  await db.schema
    .alterTable('executions')
    .addColumn('oom_killed', 'integer', (column) => column.notNull().defaultTo(0))
    .execute();
  await db.schema.createIndex('executions_finished_at').on('executions').column('finished_at_ms').execute();
  await db.schema
    .createTable('service_owner')
    .addColumn('one', 'integer', (column) => column.primaryKey())
    .addColumn('data_folder_id', 'text', (column) => column.notNull())
    .addColumn('alive_at_ms', 'bigint')
    .execute();
  await db.schema
    .createIndex('sandboxes_status_created_at')
    .on('sandboxes')
    .columns(['status', 'created_at_ms'])
    .execute();
}
