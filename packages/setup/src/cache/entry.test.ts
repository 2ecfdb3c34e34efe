import { mkdir, mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  ensureEntry,
  entryLockPath,
  findEntry,
  findMountsBelow,
  lastUsedMs,
  removeAbandonedStaging,
  removeTree,
} from './entry.ts';
import { tryLock } from './lock.ts';

const entry = { kind: 'kernel', key: '0123456789abcdef' };
const entryPath = () => join(cacheDir, 'kernel', '0123456789abcdef');
let cacheDir: string;
beforeEach(async () => {
  cacheDir = await mkdtemp(join(tmpdir(), 'mayfly-cache-'));
});
afterEach(() => rm(cacheDir, { recursive: true }));

test('an entry is built once, no matter how many need it at the same time', async () => {
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
  expect(new Set(paths)).toEqual(new Set([entryPath()]));
  expect([builds, busy]).toEqual([1, 2]);
  expect(await readFile(join(entryPath(), 'vmlinuz'), 'utf8')).toBe('kernel');
});

test('a failed build leaves nothing behind and can be repeated', async () => {
  const failing = ensureEntry(entry, {
    cacheDir,
    build: async (folder) => {
      await writeFile(join(folder, 'half'), 'made');
      throw new Error('out of luck');
    },
  });
  await expect(failing).rejects.toThrow('out of luck');
  expect(await findEntry(cacheDir, entry)).toBeUndefined();
  expect(await readdir(join(cacheDir, '.building'))).toEqual([]);
  await ensureEntry(entry, { cacheDir, build: () => Promise.resolve() });
  expect(await findEntry(cacheDir, entry)).toBe(entryPath());
});

test('using an entry updates its last use', async () => {
  const folder = await ensureEntry(entry, { cacheDir, build: () => Promise.resolve() });
  const longAgo = new Date(0);
  await utimes(join(folder, 'manifest.json'), longAgo, longAgo);
  expect(await lastUsedMs(folder)).toBe(0);
  await findEntry(cacheDir, entry);
  expect(await lastUsedMs(folder)).toBeGreaterThan(Date.now() - 60_000);
});

test('staging folders of killed set-ups are removed, those of running ones are kept', async () => {
  const alive = join(cacheDir, '.building', 'disks-00000000000000aa-1234abcd');
  const dead = join(cacheDir, '.building', 'go-toolchain-00000000000000bb-1234abcd');
  await mkdir(join(alive, 'tree'), { recursive: true });
  await mkdir(join(dead, 'tree'), { recursive: true });
  using _lock = await tryLock(entryLockPath(cacheDir, { kind: 'disks', key: '00000000000000aa' }));
  await removeAbandonedStaging(cacheDir);
  expect(await readdir(join(cacheDir, '.building'))).toEqual(['disks-00000000000000aa-1234abcd']);
});

const mountinfo = [
  '1 0 254:0 / / rw - ext4 /dev/vda rw',
  '2 1 0:5 / /cache/.building/disks-a/tree/proc rw - proc proc rw',
  '3 1 0:6 / /cache/.building/with\\040space/dev rw - tmpfs tmpfs rw',
  '4 1 0:7 / /cache/.building/disks-ab/sys rw - sysfs sys rw',
  '',
].join('\n');

test('mounts at and below a folder are found, those beside it are not', () => {
  expect(findMountsBelow(mountinfo, '/cache/.building/disks-a')).toEqual(['/cache/.building/disks-a/tree/proc']);
  expect(findMountsBelow(mountinfo, '/cache/.building/disks-a/tree/proc')).toHaveLength(1);
  expect(findMountsBelow(mountinfo, '/cache/.building/with space')).toEqual(['/cache/.building/with space/dev']);
  expect(findMountsBelow(mountinfo, '/cache/kernel')).toEqual([]);
});

test('a tree with something mounted in it is not removed', async () => {
  await expect(removeTree('/proc')).rejects.toThrow('mounted on /proc');
});
