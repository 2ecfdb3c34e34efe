import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { NodeSqlite } from './node-sqlite.ts';

test('every commit is on disk before it is acknowledged', () => {
  const folder = mkdtempSync(join(tmpdir(), 'mayfly-sqlite-'));
  const database = new NodeSqlite(join(folder, 'x.db'));
  expect(database.read('PRAGMA synchronous', [])).toEqual([{ synchronous: 2 }]);
  expect(database.read('PRAGMA journal_mode', [])).toEqual([{ journal_mode: 'wal' }]);
  database.close();
  rmSync(folder, { recursive: true });
});
