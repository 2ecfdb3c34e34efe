import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PostgresServer } from '#server-test/store/postgres-server.ts';

/** The API key of the account that every service under test starts with. */
export const testApiKey = 'mf_test_key_of_the_first_account';

/** Rate limits that no suite reaches, for suites that do not test rate limiting. */
export const unlimitedRates = {
  MAYFLY_LIMIT_REQUESTS_PER_MINUTE: '1000000',
  MAYFLY_LIMIT_CREATIONS_PER_MINUTE: '1000000',
  MAYFLY_LIMIT_SOURCE_REQUESTS_PER_MINUTE: '1000000',
};

/** The data of a service under test. It can be passed to one service after another. */
export interface ServiceData {
  readonly dataDir: string;
  /** The settings that make a service use this data. */
  readonly settings: Readonly<Record<string, string>>;
  /** Removes the data. The service must have stopped. */
  remove(): Promise<void>;
}

/** Creates a data folder. The database is a SQLite file in it, or a separate PostgreSQL server with MAYFLY_TEST_DATABASE=postgres. */
export async function newServiceData(): Promise<ServiceData> {
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
}

/** An unused port on the loopback interface. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address ? address.port : 0));
    });
  });
}
