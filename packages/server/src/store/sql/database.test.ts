import { Kysely, SqliteDialect } from 'kysely';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { migrate } from '../migrations/migrate.ts';
import type { Schema } from '../schema.ts';
import { NodeSqlite } from '../sqlite/node-sqlite.ts';
import { Database } from './database.ts';
import { emailKey } from './sql-accounts.ts';

class Conflict extends Error {}

let database: Database;
let failures: string[];
beforeEach(async () => {
  failures = [];
  const db = new Kysely<Schema>({ dialect: new SqliteDialect({ database: new NodeSqlite(':memory:') }) });
  await migrate(db, { bytes: 'blob' });
  database = new Database({
    db,
    isConflict: (error) => error instanceof Conflict,
    onFailure: (operation) => failures.push(operation),
  });
});
afterEach(() => database.close());

const accountRow = (id: string, createdAtMs = 1) => ({
  id,
  email: id,
  email_key: emailKey(id),
  suspended: 0,
  created_at_ms: createdAtMs,
});

/** A transaction that writes an account and then fails a number of times. */
function failing(times: number, error: Error) {
  let tries = 0;
  const work = () =>
    database.transact('test.transact', async (transaction) => {
      await transaction.insertInto('accounts').values(accountRow('a')).execute();
      if (tries++ < times) throw error;
      return tries;
    });
  return { work, tries: () => tries };
}
const accounts = () => database.run('test.run', (db) => db.selectFrom('accounts').select('id').execute());

test('a transaction that conflicts is retried, without the effects of earlier tries', async () => {
  expect(await failing(4, new Conflict()).work()).toBe(5);
  expect(await accounts()).toHaveLength(1);
  expect(failures).toEqual([]);
});

test('a transaction that conflicts every time fails and is rolled back', async () => {
  const always = failing(Number.POSITIVE_INFINITY, new Conflict());
  await expect(always.work()).rejects.toThrow(Conflict);
  expect(always.tries()).toBe(5);
  expect(await accounts()).toHaveLength(0);
});

test('a transaction that fails for another reason is not retried', async () => {
  const once = failing(1, new Error('broken'));
  await expect(once.work()).rejects.toThrow('broken');
  expect(once.tries()).toBe(1);
});

test('a prepared read puts values where they are used, next to constants and more than once', async () => {
  const read = database.prepare('test.prepare', (db, low: number, high: number) =>
    db
      .selectFrom('accounts')
      .select('id')
      .where('suspended', '=', 0)
      .where('created_at_ms', '<', high)
      .where((row) => row.or([row('created_at_ms', '>', low), row('created_at_ms', '=', low)])),
  );
  for (const at of [1, 2, 3, 4]) {
    await database.run('test.run', (db) =>
      db
        .insertInto('accounts')
        .values(accountRow(`a${at}`, at))
        .execute(),
    );
  }
  expect((await read(2, 4)).map(({ id }) => id)).toEqual(['a2', 'a3']);
  expect((await read(4, 9)).map(({ id }) => id)).toEqual(['a4']);
});

test('every failure is reported once, with its operation', async () => {
  const read = database.prepare('test.prepare', (db) => db.selectFrom('accounts').select('id'));
  await expect(failing(5, new Conflict()).work()).rejects.toThrow(Conflict);
  await database.close();
  await expect(accounts()).rejects.toThrow();
  await expect(read()).rejects.toThrow();
  expect(failures).toEqual(['test.transact', 'test.run', 'test.prepare']);
});
