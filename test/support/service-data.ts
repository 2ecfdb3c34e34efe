import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PostgresServer } from '#server-test/store/postgres-server.ts';

/** All that a service under test keeps, from one start to the next. */
export interface ServiceData {
  readonly dataDir: string;
  /** The settings that lead a service to it. */
  readonly settings: Readonly<Record<string, string>>;
  /** Removes it; the service must have ended. */
  remove(): Promise<void>;
}

/** A data folder of its own; its database is a PostgreSQL of its own with MAYFLY_TEST_DATABASE=postgres, else a SQLite file in it. */
export const newServiceData = async (): Promise<ServiceData> => {
  const server = process.env.MAYFLY_TEST_DATABASE === 'postgres' ? await PostgresServer.create() : undefined;
  const dataDir = await mkdtemp(join(tmpdir(), 'mayfly-'));
  const database = server ? { MAYFLY_DATABASE_URL: server.url(await server.createDatabase()) } : {};
  return {
    dataDir,
    settings: { MAYFLY_DATA_DIR: dataDir, ...database },
    remove: async () => {
      await server?.remove();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
};
