import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { describeStore } from '../store-suite.ts';
import { openSqliteStore } from './open.ts';

const folder = mkdtempSync(join(tmpdir(), 'mayfly-store-'));
afterAll(() => rmSync(folder, { recursive: true }));
let opened = 0;

describeStore('SQLite', () => openSqliteStore(join(folder, `${opened++}.db`)));

test('what was kept is there after the store is opened again, in a file of its owner alone', async () => {
  const path = join(folder, 'again.db');
  const key = { id: 'key_1', hash: 'h', prefix: '' };
  const account = { id: 'acct_1', email: 'a@b', openingCreditMicroUsd: 0, createdAtMs: 1, key };
  const first = await openSqliteStore(path);
  await first.accounts.createFirst(account);
  await first.close();
  const second = await openSqliteStore(path);
  expect((await second.accounts.findByKeyHash('h'))?.account.email).toBe('a@b');
  await second.close();
  expect(statSync(path).mode & 0o777).toBe(0o600);
});
