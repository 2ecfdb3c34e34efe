import { mkdir, mkdtemp, open, readdir, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { entryLockPath } from './entry.ts';
import { tryLock } from './lock.ts';
import { findUsedFiles, listEntries, pruneCache } from './prune.ts';

const day = 24 * 3_600_000;
const nothingUsed = () => Promise.resolve({ open: new Set<string>(), mapped: new Set<number>() });
let cacheDir: string;
beforeEach(async () => {
  cacheDir = await mkdtemp(join(tmpdir(), 'mayfly-prune-'));
});
afterEach(() => rm(cacheDir, { recursive: true }));

async function addEntry(kind: string, key: string, unusedDays: number): Promise<string> {
  const folder = join(cacheDir, kind, key);
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'ram'), kind);
  await writeFile(join(folder, 'manifest.json'), '{}');
  const usedAt = new Date(Date.now() - unusedDays * day);
  await utimes(join(folder, 'manifest.json'), usedAt, usedAt);
  return folder;
}

test('entries that were not used for 14 days are removed, with the folder of their kind when it becomes empty', async () => {
  await addEntry('disks', '00000000000000aa', 15);
  await addEntry('disks', '00000000000000bb', 13);
  await addEntry('kernel', '00000000000000cc', 400);
  await mkdir(join(cacheDir, 'go-build', '00'), { recursive: true });
  const removed = await pruneCache(cacheDir, nothingUsed);
  expect(removed.map(({ kind, key }) => `${kind}/${key}`).sort()).toEqual([
    'disks/00000000000000aa',
    'kernel/00000000000000cc',
  ]);
  expect(await readdir(join(cacheDir, 'disks'))).toEqual(['00000000000000bb']);
  expect((await readdir(cacheDir)).sort()).toEqual(['.locks', 'disks', 'go-build']);
});

test('an entry that a process has open is kept, however old it is', async () => {
  const folder = await addEntry('template-small', '00000000000000aa', 400);
  const file = await open(join(folder, 'ram'));
  expect(await pruneCache(cacheDir)).toEqual([]);
  await file.close();
  expect(await pruneCache(cacheDir, nothingUsed)).toHaveLength(1);
});

test('mapped files are recognised', async () => {
  const used = await findUsedFiles();
  expect(used.mapped).toContain((await stat(process.execPath)).ino);
});

test('an entry that another set-up is working on is kept', async () => {
  await addEntry('agent', '00000000000000aa', 400);
  using _lock = await tryLock(entryLockPath(cacheDir, { kind: 'agent', key: '00000000000000aa' }));
  expect(await pruneCache(cacheDir, nothingUsed)).toEqual([]);
  expect(await listEntries(cacheDir)).toHaveLength(1);
});

test('a cache that does not exist has no entries', async () => {
  expect(await pruneCache(join(cacheDir, 'none'), nothingUsed)).toEqual([]);
});
