import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { PostgresServer } from '../../../test/store/postgres-server.ts';
import { RecordedLog } from '../../../test/store/recorded-log.ts';
import { StoreOpenError } from '../open-error.ts';
import { openPostgresStore } from './open.ts';

vi.setConfig({ testTimeout: 60_000, hookTimeout: 120_000 });

const log = new RecordedLog();
let server: PostgresServer;
beforeAll(async () => {
  server = await PostgresServer.create();
});
afterAll(() => server.remove());

/** What an operator reads who gave this URL. */
async function refusal(url: string): Promise<string> {
  const error = await openPostgresStore(url, { log }).then(
    async (store) => {
      await store.close();
      return undefined;
    },
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(StoreOpenError);
  const { message } = error as StoreOpenError;
  expect(message).not.toMatch(/\n|only-for-tests|s3cret/);
  return message;
}

test('nobody listens there', async () => {
  const stopped = server.url('postgres', { port: 1, password: 's3cret' });
  expect(await refusal(stopped)).toMatch(/^PostgreSQL at 127\.0\.0\.1:1: connect ECONNREFUSED .* Start it, or correct/);
  expect(await refusal('postgres://u:s3cret@localhost:1/x')).toMatch(/^PostgreSQL at localhost:1: .*ECONNREFUSED/);
  expect(await refusal('postgres://u:s3cret@nowhere.invalid/x')).toMatch(/Start it, or correct host and port/);
  expect(await refusal('postgres:///x?host=/nowhere')).toMatch(/^PostgreSQL in \/nowhere: .*ENOENT/);
});

test('wrong password, none, and a user that does not exist', async () => {
  expect(await refusal(server.url('postgres', { password: 's3cret' }))).toMatch(
    /password authentication failed for user "mayfly"\. Correct user and password in MAYFLY_DATABASE_URL/,
  );
  const url = server.url('postgres');
  expect(await refusal(url.replace(':only-for-tests', ''))).toMatch(/Give the password of user "mayfly"/);
  expect(await refusal(url.replace('mayfly:only-for-tests', 'nobody:s3cret'))).toMatch(/Correct user and password/);
});

test('a database that does not exist', async () => {
  expect(await refusal(server.url('elsewhere'))).toMatch(
    /database "elsewhere" does not exist\. Create it \(createdb --owner mayfly elsewhere\)/,
  );
});

test('a database in which the user may make nothing', async () => {
  const url = server.url(await server.createDatabase());
  await server.run('postgres', `create role guest login password 's3cret'`);
  expect(await refusal(url.replace('mayfly:only-for-tests', 'guest:s3cret'))).toMatch(
    /permission denied for schema public\. Make "guest" the owner of database/,
  );
});

test('a database that cannot keep every character', async () => {
  const name = await server.createDatabase(`encoding 'LATIN1' locale 'C' template template0`);
  expect(await refusal(server.url(name))).toMatch(/has the encoding LATIN1\. Create one with UTF8/);
});

test('a database of a newer version', async () => {
  const name = await server.createDatabase();
  const url = server.url(name);
  await (await openPostgresStore(url, { log })).close();
  const later = `insert into kysely_migration values ('9999-later', '2030-01-01T00:00:00.000Z')`;
  await server.run(name, later);
  expect(await refusal(url)).toMatch(/newer version of Mayfly \(9999-later\)\. Start that version/);
});

test('a URL that is none', async () => {
  expect(await refusal('postgres://u:s3cret@host:port/x')).toMatch(/is no URL like postgres:\/\/user:password@host/);
});
