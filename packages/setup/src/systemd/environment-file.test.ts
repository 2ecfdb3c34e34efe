import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { readSettings, writeSettings } from './environment-file.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'mayfly-settings-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

test('what was written is read again, without what is no setting', async () => {
  const path = join(folder, 'etc/mayfly.env');
  const settings = {
    MAYFLY_DATABASE_URL: 'postgres://mayfly:pa$$`word@db.example.com/mayfly?sslmode=verify-full',
    MAYFLY_BOOTSTRAP_EMAIL: 'ada@example.com',
    PGPASSFILE: '/etc/mayfly/pgpass',
    NODE_EXTRA_CA_CERTS: '/etc/mayfly/ca.pem',
  };
  await writeSettings(path, { ...settings, PATH: '/usr/bin', LD_PRELOAD: 'x.so' });
  expect(await readSettings(path)).toEqual(settings);
});

test('a file that an operator wrote is read; a missing one is none', async () => {
  const path = join(folder, 'mayfly.env');
  expect(await readSettings(path)).toBeUndefined();
  writeFileSync(path, "# comment\nMAYFLY_PORT=443\n\nMAYFLY_DATA_DIR='/srv/mayfly'\n");
  expect(await readSettings(path)).toEqual({ MAYFLY_PORT: '443', MAYFLY_DATA_DIR: '/srv/mayfly' });
});
