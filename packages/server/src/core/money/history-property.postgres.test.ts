import { afterAll, beforeAll } from 'vitest';
import { openPostgresStore } from '../../store/postgres/open.ts';
import { PostgresServer } from '../../store/testing/postgres-server.ts';
import { RecordedLog } from '../../store/testing/recorded-log.ts';
import { describeMoney } from './history-property-suite.ts';

let server: PostgresServer;
beforeAll(async () => {
  server = await PostgresServer.create();
}, 120_000);
afterAll(() => server.remove(), 60_000);

describeMoney('PostgreSQL', 25, async () => {
  const database = await server.createDatabase();
  return await openPostgresStore(server.url(database), { log: new RecordedLog() });
});
