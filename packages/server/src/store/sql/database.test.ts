import { Kysely, SqliteDialect } from 'kysely';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { migrate } from '../migrations/migrate.ts';
import type { Schema } from '../schema.ts';
import { NodeSqlite } from '../sqlite/node-sqlite.ts';
import { emailKey } from './create-account.ts';
import { Database } from './database.ts';

class LostRace extends Error {}

let database: Database;
beforeEach(async () => {
  const db = new Kysely<Schema>({ dialect: new SqliteDialect({ database: new NodeSqlite(':memory:') }) });
  await migrate(db, { bytes: 'blob' });
  database = new Database({ db, isLostRace: (error) => error instanceof LostRace });
});
afterEach(() => database.close());

/** Writes an account, then fails as often as it is told to. */
const failing = (failures: number, error: Error) => {
  let tries = 0;
  const work = () =>
    database.transact(async (transaction) => {
      const row = { id: 'a', email: 'a', email_key: emailKey('a'), suspended: 0, created_at_ms: 1 };
      await transaction.insertInto('accounts').values(row).execute();
      if (tries++ < failures) throw error;
      return tries;
    });
  return { work, tries: () => tries };
};
const accounts = () => database.db.selectFrom('accounts').select('id').execute();

test('a transaction that loses a race starts anew with nothing of the first try', async () => {
  expect(await failing(4, new LostRace()).work()).toBe(5);
  expect(await accounts()).toHaveLength(1);
});

test('one that loses every race fails, and is undone', async () => {
  const always = failing(Number.POSITIVE_INFINITY, new LostRace());
  await expect(always.work()).rejects.toThrow(LostRace);
  expect(always.tries()).toBe(5);
  expect(await accounts()).toHaveLength(0);
});

test('one that fails by itself is not tried again', async () => {
  const once = failing(1, new Error('broken'));
  await expect(once.work()).rejects.toThrow('broken');
  expect(once.tries()).toBe(1);
});

test('a prepared read takes its values where they were used, beside constants and more than once', async () => {
  const read = database.prepare((db, low: number, high: number) =>
    db
      .selectFrom('accounts')
      .select('id')
      .where('suspended', '=', 0)
      .where('created_at_ms', '<', high)
      .where((row) => row.or([row('created_at_ms', '>', low), row('created_at_ms', '=', low)])),
  );
  for (const at of [1, 2, 3, 4]) {
    const row = { id: `a${at}`, email: `${at}`, email_key: emailKey(`${at}`), suspended: 0, created_at_ms: at };
    await database.db.insertInto('accounts').values(row).execute();
  }
  expect((await read(2, 4)).map(({ id }) => id)).toEqual(['a2', 'a3']);
  expect((await read(4, 9)).map(({ id }) => id)).toEqual(['a4']);
});
