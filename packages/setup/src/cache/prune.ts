import { lstat, readdir, readFile, rmdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type CacheEntry, entryLockPath, lastUsedMs, removeTree } from './entry.ts';
import { tryLock } from './lock.ts';

/** Entries that no set-up and no running service used for this long are removed. */
export const keepUnusedMs = 14 * 24 * 3_600_000;

/** A running service marks its entries as used this often. */
export const markUsedEveryMs = 6 * 3_600_000;

export interface StoredEntry extends CacheEntry {
  readonly path: string;
}

/** Every finished entry of a cache, of any kind. */
export async function listEntries(cacheDir: string): Promise<readonly StoredEntry[]> {
  const entries: StoredEntry[] = [];
  for (const kind of await readdir(cacheDir).catch(() => [])) {
    for (const key of await readdir(join(cacheDir, kind)).catch(() => [])) {
      const path = join(cacheDir, kind, key);
      if (/^[0-9a-f]{16}$/.test(key) && (await lastUsedMs(path)) !== undefined) entries.push({ kind, key, path });
    }
  }
  return entries;
}

/** Removes entries that were not used for 14 days, unless a living process has one of their files open or mapped. Returns the removed ones. */
export async function pruneCache(
  cacheDir: string,
  findUsed: () => Promise<UsedFiles> = findUsedFiles,
  nowMs: number = Date.now(),
): Promise<readonly StoredEntry[]> {
  const isOld = async ({ path }: StoredEntry) => nowMs - ((await lastUsedMs(path)) ?? nowMs) > keepUnusedMs;
  const removed: StoredEntry[] = [];
  let used: UsedFiles | undefined;
  for (const entry of await listEntries(cacheDir)) {
    if (!(await isOld(entry))) continue;
    using lock = await tryLock(entryLockPath(cacheDir, entry));
    used ??= await findUsed();
    if (!lock || (await containsUsedFile(entry.path, used)) || !(await isOld(entry))) continue;
    await removeTree(entry.path);
    // Succeeds only for the last entry of its kind.
    await rmdir(join(cacheDir, entry.kind)).catch(() => {});
    removed.push(entry);
  }
  return removed;
}

/** Files that some process has open or mapped. */
export interface UsedFiles {
  /** Device and inode, as "dev:ino". */
  readonly open: ReadonlySet<string>;
  /** Inode numbers only: the device of a mapping is not the one that stat reports on every file system. */
  readonly mapped: ReadonlySet<number>;
}

/** Whether a file in the folder, or below it, is in use. */
export async function containsUsedFile(folder: string, used: UsedFiles): Promise<boolean> {
  for (const name of await readdir(folder, { recursive: true }).catch(() => [])) {
    const status = await lstat(join(folder, name)).catch(() => undefined);
    if (status?.isFile() && (used.mapped.has(status.ino) || used.open.has(`${status.dev}:${status.ino}`))) return true;
  }
  return false;
}

/**
 * All files that processes of this host use. Machines run in mount namespaces and see their files under other paths, so files are
 * identified by inode. A mapped file of another file system may have the same number; then an entry is kept, which is safe.
 */
export async function findUsedFiles(): Promise<UsedFiles> {
  const open = new Set<string>();
  const mapped = new Set<number>();
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    const maps = await readFile(`/proc/${pid}/maps`, 'utf8').catch(() => '');
    const mappedFiles = /^\S+ \S+ \S+ \S+ ([1-9]\d*) +\/(?!memfd:|SYSV|dev\/zero)/gm;
    for (const [, inode] of maps.matchAll(mappedFiles)) mapped.add(Number(inode));
    for (const fd of await readdir(`/proc/${pid}/fd`).catch(() => [])) {
      const status = await stat(`/proc/${pid}/fd/${fd}`).catch(() => undefined);
      if (status?.isFile()) open.add(`${status.dev}:${status.ino}`);
    }
  }
  return { open, mapped };
}
