import { PostgresServer } from '@mayfly/server/store/testing/postgres-server.ts';

/** The database of a service under test. */
export interface TestDatabase {
  readonly settings: Readonly<Record<string, string>>;
  remove(): Promise<void>;
}

/** A PostgreSQL of its own with MAYFLY_TEST_DATABASE=postgres, else the service's SQLite file. */
export const openTestDatabase = async (): Promise<TestDatabase> => {
  if (process.env.MAYFLY_TEST_DATABASE !== 'postgres') return { settings: {}, remove: async () => {} };
  const server = await PostgresServer.create();
  return {
    settings: { MAYFLY_DATABASE_URL: server.url(await server.createDatabase()) },
    remove: () => server.remove(),
  };
};
