import { Kysely, PostgresDialect } from 'kysely';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { RecordedLog } from '../../../test/recorded-log.ts';
import { newAccount } from '../../../test/store/fixtures.ts';
import { PostgresServer } from '../../../test/store/postgres-server.ts';
import { describeStore } from '../../../test/store/store-suite.ts';
import { describeUpgrade } from '../../../test/store/suite/upgrade.ts';
import { parseInteger } from './connection-pool.ts';
import { openPostgresStore } from './open.ts';

vi.setConfig({ testTimeout: 60_000, hookTimeout: 120_000 });

const log = new RecordedLog();
let server: PostgresServer;
let database: string;
beforeAll(async () => {
  server = await PostgresServer.create();
  database = await server.createDatabase();
});
afterAll(() => server.remove());

describeStore('PostgreSQL', async () => {
  const store = await openPostgresStore(server.url(database), { log });
  await server.run(database, 'truncate accounts, audit_events cascade');
  return store;
});

describe('an earlier version over PostgreSQL', () => {
  describeUpgrade(async () => {
    const url = server.url(await server.createDatabase());
    const db = new Kysely<unknown>({ dialect: new PostgresDialect({ pool: new pg.Pool({ connectionString: url }) }) });
    const open = async () => {
      await db.destroy();
      return openPostgresStore(url, { log });
    };
    return { db, engine: { bytes: 'bytea' }, open };
  });
});

test('two services that start at once on an empty database both start, and one creates the first account', async () => {
  const url = server.url(await server.createDatabase());
  const stores = await Promise.all([1, 2].map(() => openPostgresStore(url, { log })));
  const many = stores.flatMap((store) => Array.from({ length: 10 }, () => store.accounts));
  // Open the connections first, so that all creates start together.
  await Promise.all(many.map((accounts) => accounts.list()));
  const made = await Promise.all(many.map((accounts, index) => accounts.createFirst(newAccount(`${index}`))));
  expect(made.filter(Boolean)).toHaveLength(1);
  expect(await stores[0]?.accounts.list()).toHaveLength(1);
  await Promise.all(stores.map((store) => store.close()));
});

test('an integer that a number cannot represent is an error, not another integer', () => {
  expect(parseInteger('-9007199254740991')).toBe(-9007199254740991);
  expect(() => parseInteger('9007199254740993')).toThrow('9007199254740993');
});

test('a failed statement does not make its connection unusable', async () => {
  const store = await openPostgresStore(server.url(await server.createDatabase()), { log });
  const fail = () => store.accounts.addKey('acct_x', newAccount('x').key, 1, 1);
  await Promise.all(Array.from({ length: 40 }, () => expect(fail()).rejects.toThrow('no result')));
  expect(await store.accounts.create(newAccount('a'))).toBe(true);
  await store.close();
});
