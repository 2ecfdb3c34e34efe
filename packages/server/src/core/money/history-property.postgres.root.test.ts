import { afterAll, beforeAll } from 'vitest';
import { describeMoney } from '../../../test/core/money-history-suite.ts';
import { RecordedLog } from '../../../test/recorded-log.ts';
import { PostgresServer } from '../../../test/store/postgres-server.ts';
import { openPostgresStore } from '../../store/postgres/open.ts';

let server: PostgresServer;
beforeAll(async () => {
  server = await PostgresServer.create();
}, 120_000);
afterAll(() => server.remove(), 60_000);

describeMoney('PostgreSQL', 25, async () => {
  const database = await server.createDatabase();
  return await openPostgresStore(server.url(database), { log: new RecordedLog() });
});
