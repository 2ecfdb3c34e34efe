import { type Kysely, type Migration, Migrator } from 'kysely';
import { createFirstTables } from './0001-accounts-sandboxes-executions.ts';
import type { MigrationEngine } from './engine.ts';

type Step = (db: Kysely<unknown>, engine: MigrationEngine) => Promise<void>;

/** Every migration there ever was, oldest first. Append; never edit, rename or remove one. */
const steps: Readonly<Record<string, Step>> = {
  '0001-accounts-sandboxes-executions': createFirstTables,
};

/** Brings a database to the newest schema, all steps in one transaction. Refuses a database of a newer version. */
export async function migrate<Tables>(db: Kysely<Tables>, engine: MigrationEngine): Promise<void> {
  const migrations: Record<string, Migration> = {};
  for (const [name, step] of Object.entries(steps)) {
    migrations[name] = { up: (connection: Kysely<unknown>) => step(connection, engine) };
  }
  const migrator = new Migrator({ db, provider: { getMigrations: async () => migrations } });
  const { error } = await migrator.migrateToLatest();
  if (error !== undefined) throw error;
}
