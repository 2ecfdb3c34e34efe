import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Kysely, SqliteDialect, sql } from 'kysely';
import { afterAll, describe, expect, test } from 'vitest';
import { newAccount } from '../../../test/store/fixtures.ts';
import { describeStore } from '../../../test/store/store-suite.ts';
import { describeUpgrade } from '../../../test/store/suite/upgrade.ts';
import { NodeSqlite } from './node-sqlite.ts';
import { openSqliteStore } from './open.ts';

const folder = mkdtempSync(join(tmpdir(), 'mayfly-store-'));
afterAll(() => rmSync(folder, { recursive: true }));
let opened = 0;
const newPath = (): string => join(folder, `${opened++}.db`);

describeStore('SQLite', () => openSqliteStore(newPath()));
describeStore('SQLite in memory', () => openSqliteStore(':memory:'));

const rawDatabase = (path: string) =>
  new Kysely<unknown>({ dialect: new SqliteDialect({ database: new NodeSqlite(path) }) });

describe('an earlier version over SQLite', () => {
  describeUpgrade(async () => {
    const path = newPath();
    const db = rawDatabase(path);
    const open = async () => {
      await db.destroy();
      return openSqliteStore(path);
    };
    return await Promise.resolve({ db, engine: { bytes: 'blob' }, open });
  });
});

test('data survives reopening the store, in a file that only its owner can read', async () => {
  const path = newPath();
  const first = await openSqliteStore(path);
  await first.accounts.createFirst(newAccount('1', { email: 'a@b' }));
  await first.close();
  const second = await openSqliteStore(path);
  expect((await second.accounts.findByKeyHash('hash_1'))?.account.email).toBe('a@b');
  await second.close();
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

test('a database of a newer version is rejected with an explanation', async () => {
  const path = newPath();
  await (await openSqliteStore(path)).close();
  const db = rawDatabase(path);
  await sql`insert into kysely_migration values ('9999-later', '2030-01-01T00:00:00.000Z')`.execute(db);
  await db.destroy();
  await expect(openSqliteStore(path)).rejects.toThrow(/newer version of Mayfly \(9999-later\)\. Start that version/);
});

test('a file that is not a database, or cannot be created, is rejected with its path', async () => {
  const path = newPath();
  writeFileSync(path, 'something else entirely, and long enough to be looked at'.repeat(20));
  await expect(openSqliteStore(path)).rejects.toThrow(`The database ${path} cannot be used: file is not a database.`);
  const nowhere = join(folder, 'missing', 'x.db');
  await expect(openSqliteStore(nowhere)).rejects.toThrow(`The database ${nowhere} cannot be used: ENOENT`);
});

test('failures are reported with the name of the store method', async () => {
  const failures: string[] = [];
  const store = await openSqliteStore(newPath(), (operation) => failures.push(operation));
  await store.close();
  await expect(store.ledger.funds('acct_1')).rejects.toThrow();
  await expect(store.sandboxes.list('acct_1', { limit: 1, includeDeleted: false })).rejects.toThrow();
  await expect(store.accounts.create(newAccount('1'))).rejects.toThrow();
  expect(failures).toEqual(['ledger.funds', 'sandboxes.list', 'accounts.create']);
});
