import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { RecordedLog } from '../../../test/recorded-log.ts';
import { PostgresServer } from '../../../test/store/postgres-server.ts';
import { StoreOpenError } from '../sql/database.ts';
import { openPostgresStore } from './open.ts';

vi.setConfig({ testTimeout: 60_000, hookTimeout: 120_000 });

const log = new RecordedLog();
let server: PostgresServer;
beforeAll(async () => {
  server = await PostgresServer.create();
});
afterAll(() => server.remove());

/** The message an operator gets for this URL. */
async function refusal(url: string, { isTemporary = false } = {}): Promise<string> {
  const error = await openPostgresStore(url, { log }).then(
    async (store) => {
      await store.close();
      return undefined;
    },
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(StoreOpenError);
  const { message } = error as StoreOpenError;
  expect([message, (error as StoreOpenError).isTemporary]).toEqual([message, isTemporary]);
  expect(message).not.toMatch(/\n|only-for-tests|s3cret/);
  return message;
}

test('no server is listening', async () => {
  const stopped = server.url('postgres', { port: 1, password: 's3cret' });
  const later = { isTemporary: true };
  expect(await refusal(stopped, later)).toMatch(
    /^PostgreSQL at 127\.0\.0\.1:1: connect ECONNREFUSED .* Start the server, or correct/,
  );
  expect(await refusal('postgres://u:s3cret@localhost:1/x', later)).toMatch(
    /^PostgreSQL at localhost:1: .*ECONNREFUSED/,
  );
  expect(await refusal('postgres://u:s3cret@nowhere.invalid/x', later)).toMatch(
    /Start the server, or correct host and port/,
  );
  expect(await refusal('postgres:///x?host=/nowhere', later)).toMatch(/^PostgreSQL in \/nowhere: .*ENOENT/);
});

test('a wrong password, a missing one, and an unknown user', async () => {
  expect(await refusal(server.url('postgres', { password: 's3cret' }))).toMatch(
    /password authentication failed for user "mayfly"\. Correct user and password in MAYFLY_DATABASE_URL/,
  );
  const url = server.url('postgres');
  expect(await refusal(url.replace(':only-for-tests', ''))).toMatch(/Set the password of user "mayfly"/);
  expect(await refusal(url.replace('mayfly:only-for-tests', 'nobody:s3cret'))).toMatch(/Correct user and password/);
});

test('a database that does not exist', async () => {
  expect(await refusal(server.url('elsewhere'))).toMatch(
    /database "elsewhere" does not exist\. Create the database \(createdb --owner mayfly elsewhere\)/,
  );
});

test('a database in which the user may not create tables', async () => {
  const url = server.url(await server.createDatabase());
  await server.run('postgres', `create role guest login password 's3cret'`);
  expect(await refusal(url.replace('mayfly:only-for-tests', 'guest:s3cret'))).toMatch(
    /permission denied for schema public\. Make "guest" the owner of database/,
  );
});

test('a database whose encoding is not UTF-8', async () => {
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

test('a URL that is invalid', async () => {
  expect(await refusal('postgres://u:s3cret@host:port/x')).toMatch(
    /must be a URL like postgres:\/\/user:password@host/,
  );
});
