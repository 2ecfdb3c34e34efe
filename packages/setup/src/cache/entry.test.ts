import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ensureEntry, entryPath, hasEntry } from './entry.ts';
import { tryLock } from './lock.ts';
import { entryLockPath, sweepBuilding } from './sweep-building.ts';

const entry = { kind: 'kernel', key: '0123456789abcdef' };
let cacheDir: string;
beforeEach(async () => {
  cacheDir = await mkdtemp(join(tmpdir(), 'mayfly-cache-'));
});
afterEach(() => rm(cacheDir, { recursive: true }));

test('an entry is made once, however many ask for it at the same time', async () => {
  let builds = 0;
  let busy = 0;
  const ask = () =>
    ensureEntry(entry, {
      cacheDir,
      onBusy: () => busy++,
      build: async (folder) => {
        builds++;
        await writeFile(join(folder, 'vmlinuz'), 'kernel');
      },
    });
  const paths = await Promise.all([ask(), ask(), ask()]);
  expect(new Set(paths)).toEqual(new Set([entryPath(cacheDir, entry)]));
  expect([builds, busy]).toEqual([1, 2]);
  expect(await readFile(join(entryPath(cacheDir, entry), 'vmlinuz'), 'utf8')).toBe('kernel');
});

test('a build that fails leaves nothing and can be tried again', async () => {
  const failing = ensureEntry(entry, {
    cacheDir,
    build: async (folder) => {
      await writeFile(join(folder, 'half'), 'made');
      throw new Error('out of luck');
    },
  });
  await expect(failing).rejects.toThrow('out of luck');
  expect(await hasEntry(cacheDir, entry)).toBe(false);
  expect(await readdir(join(cacheDir, '.building'))).toEqual([]);
  await ensureEntry(entry, { cacheDir, build: () => Promise.resolve() });
  expect(await hasEntry(cacheDir, entry)).toBe(true);
});

test('what a dead set-up left half-made is swept, what a live one is making stays', async () => {
  const alive = join(cacheDir, '.building', 'disks-00000000000000aa-1234abcd');
  const dead = join(cacheDir, '.building', 'go-toolchain-00000000000000bb-1234abcd');
  await mkdir(join(alive, 'tree'), { recursive: true });
  await mkdir(join(dead, 'tree'), { recursive: true });
  using _lock = await tryLock(entryLockPath(cacheDir, 'disks', '00000000000000aa'));
  await sweepBuilding(cacheDir);
  expect(await readdir(join(cacheDir, '.building'))).toEqual(['disks-00000000000000aa-1234abcd']);
});
