import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openBallast } from './ballast.ts';
import { holdDataFolder, isDataFolderInUse, lockFolder, removeDataFolder, supervisorsLock } from './data-folder.ts';
import { shownKey } from './run-service.ts';

let parent: string;
let path: string;
beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), 'mayfly-data-'));
  path = join(parent, 'a', 'data');
});
afterEach(() => rmSync(parent, { recursive: true }));

const modeOf = (file: string) => statSync(file).mode & 0o777;

test('a new folder and its lock are closed to other users; its parents are ordinary folders', () => {
  using _held = holdDataFolder(path);
  expect(modeOf(path)).toBe(0o700);
  expect(modeOf(join(path, 'lock'))).toBe(0o600);
  expect(modeOf(join(parent, 'a'))).not.toBe(0o700);
});

test('the key that secrets are sealed with is made once, for the owner only, and is not replaced if it is damaged', () => {
  const keyFile = join(path, 'secret-key');
  const keyOf = () => {
    using held = holdDataFolder(path);
    return held.secretKey.toString('hex');
  };
  const key = keyOf();
  expect(key).toMatch(/^[0-9a-f]{64}$/);
  expect(keyOf()).toBe(key);
  expect(modeOf(keyFile)).toBe(0o600);
  writeFileSync(keyFile, key.slice(0, 20));
  expect(keyOf).toThrow(/secret-key is damaged\. Restore it from a backup, or delete it/);
});

test('the folder and the lock of an earlier version are closed at the next start', () => {
  mkdirSync(path, { recursive: true, mode: 0o755 });
  for (const name of ['lock', 'mayfly.db', 'mayfly.db-wal']) writeFileSync(join(path, name), '', { mode: 0o644 });
  using _held = holdDataFolder(path);
  expect([modeOf(path), modeOf(join(path, 'lock'))]).toEqual([0o700, 0o600]);
});

test('a folder that others use as well is refused and not changed', () => {
  mkdirSync(path, { recursive: true });
  chmodSync(path, 0o755);
  writeFileSync(join(path, 'somebody-elses'), '');
  expect(() => holdDataFolder(path)).toThrow(
    /is open to other users and holds files that are not Mayfly's \(somebody-/,
  );
  expect(modeOf(path)).toBe(0o755);
  chmodSync(path, 0o700);
  using _held = holdDataFolder(path);
});

test('data can be removed from a folder that others use', () => {
  mkdirSync(path, { recursive: true });
  for (const name of ['mayfly.db', 'somebody-elses']) writeFileSync(join(path, name), '');
  chmodSync(path, 0o755);
  removeDataFolder(path);
  expect([readdirSync(path), modeOf(path)]).toEqual([['somebody-elses'], 0o755]);
});

test('without a terminal the first key goes to a file that only its owner can read, and removing the data removes it', () => {
  holdDataFolder(path)[Symbol.dispose]();
  expect(shownKey(undefined, { dataDir: path }, false)).toBeUndefined();
  expect(shownKey('mf_key', { dataDir: path }, true)).toEqual({ apiKey: 'mf_key' });
  const file = join(path, 'first-api-key');
  expect(shownKey('mf_key', { dataDir: path }, false)).toEqual({ file });
  expect([modeOf(file), readFileSync(file, 'utf8')]).toEqual([0o600, 'mf_key\n']);
  removeDataFolder(path);
  expect(() => statSync(path)).toThrow('ENOENT');
});

test('a folder is in use as long as its supervisor runs, also while no host process holds the other lock', () => {
  expect(isDataFolderInUse(path)).toBe(false);
  {
    using _supervisor = lockFolder(path, { closed: true, name: supervisorsLock });
    lockFolder(path, { closed: true })[Symbol.dispose]();
    expect(isDataFolderInUse(path)).toBe(true);
    expect(() => removeDataFolder(path)).toThrow(
      `Another Mayfly service (process ${process.pid}) is using the data folder`,
    );
    expect(() => lockFolder(path, { closed: true, name: supervisorsLock })).toThrow('Another Mayfly service');
  }
  expect(isDataFolderInUse(path)).toBe(false);
  {
    using _host = lockFolder(path, { closed: true });
    expect(isDataFolderInUse(path)).toBe(true);
  }
  removeDataFolder(path);
  expect(() => statSync(path)).toThrow('ENOENT');
});

test('removing the data removes the ballast', async () => {
  holdDataFolder(path)[Symbol.dispose]();
  await openBallast(path, 2 ** 20).hold();
  expect(readdirSync(path)).toContain('ballast');
  removeDataFolder(path);
  expect(() => statSync(path)).toThrow('ENOENT');
});
