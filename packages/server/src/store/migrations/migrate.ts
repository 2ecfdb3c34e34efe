import { type Kysely, type Migration, Migrator, sql } from 'kysely';
import type { MigrationEngine } from '../schema.ts';
import { StoreOpenError } from '../sql/database.ts';
import { createFirstTables } from './0001-accounts-sandboxes-executions.ts';
import { addLedgerLimitsPreviews } from './0002-ledger-limits-previews.ts';
import { addMachinesAndRetention } from './0003-machines-retention.ts';
import { addStoredOutput } from './0004-stored-output.ts';
import { addAuditTrail } from './0005-audit-trail.ts';
import { addSnapshots } from './0006-snapshots.ts';
import { addCreationToLedger } from './0007-creation-in-ledger.ts';
import { addLiveExecutions } from './0008-live-executions.ts';
import { addEndedAt } from './0009-ended-at.ts';
import { addSignIn } from './0010-sign-in.ts';
import { addLedgerDays } from './0011-ledger-days.ts';

type Step = (db: Kysely<unknown>, engine: MigrationEngine) => Promise<void>;

/** All migrations, oldest first. Append only: never edit, rename or remove one. */
export const steps: Readonly<Record<string, Step>> = {
  '0001-accounts-sandboxes-executions': createFirstTables,
  '0002-ledger-limits-previews': addLedgerLimitsPreviews,
  '0003-machines-retention': addMachinesAndRetention,
  '0004-stored-output': addStoredOutput,
  '0005-audit-trail': addAuditTrail,
  '0006-snapshots': addSnapshots,
  '0007-creation-in-ledger': addCreationToLedger,
  '0008-live-executions': addLiveExecutions,
  '0009-ended-at': addEndedAt,
  '0010-sign-in': addSignIn,
  '0011-ledger-days': addLedgerDays,
};

/** Migrates a database to the newest schema, in one transaction. Rejects a database of a newer version. */
export async function migrate<Tables>(db: Kysely<Tables>, engine: MigrationEngine): Promise<void> {
  const migrations: Record<string, Migration> = {};
  for (const [name, step] of Object.entries(steps)) {
    migrations[name] = { up: (connection: Kysely<unknown>) => step(connection, engine) };
  }
  const migrator = new Migrator({ db, provider: { getMigrations: async () => migrations } });
  const { error } = await migrator.migrateToLatest();
  if (error === undefined) return;
  const unknown = await findUnknownStep(db);
  if (unknown === undefined) throw error;
  throw new StoreOpenError(
    `The database was written by a newer version of Mayfly (${unknown}). Start that version, or restore a backup from before it.`,
  );
}

/** A migration that was applied to the database but is not in the list. */
async function findUnknownStep<Tables>(db: Kysely<Tables>): Promise<string | undefined> {
  const { rows } = await sql<{ name: string }>`select name from kysely_migration order by name`
    .execute(db)
    .catch(() => ({ rows: [] }));
  return rows.find(({ name }) => !(name in steps))?.name;
}
