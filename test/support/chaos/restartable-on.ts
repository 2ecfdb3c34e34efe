import { onTestFinished } from 'vitest';
import { PostgresServer } from '#server-test/store/postgres-server.ts';
import { RestartableService } from '../restartable-service.ts';
import { type AuditedDatabase, type Row, sqliteFile } from './database.ts';

export const databaseNames = ['SQLite', 'PostgreSQL'] as const;
export type DatabaseName = (typeof databaseNames)[number];

/** Starts a service on a new database of this kind. Both are removed when the test has finished. */
export async function restartableOn(
  kind: DatabaseName,
  settings: Readonly<Record<string, string>> = {},
): Promise<{ readonly service: RestartableService; readonly database: AuditedDatabase }> {
  if (kind === 'SQLite') {
    const service = await RestartableService.create(settings);
    onTestFinished(() => service.remove());
    return { service, database: sqliteFile(service.databasePath) };
  }
  const postgres = await PostgresServer.create();
  onTestFinished(() => postgres.remove());
  const name = await postgres.createDatabase();
  const service = await RestartableService.create({ ...settings, MAYFLY_DATABASE_URL: postgres.url(name) });
  onTestFinished(() => service.remove());
  return { service, database: { rows: async (sql) => (await postgres.run(name, sql)) as Row[] } };
}
