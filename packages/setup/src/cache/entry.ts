import { randomBytes } from 'node:crypto';
import { mkdir, open, rename, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { runCommand } from '../run-command.ts';
import { waitForLock } from './lock.ts';
import { removeTree } from './remove-tree.ts';
import { entryLockPath } from './sweep-building.ts';

/** One thing worth keeping, addressed by the hash of all that goes into it. */
export interface CacheEntry {
  /** Folder name under the cache, e.g. "kernel"; [a-z-]+. */
  readonly kind: string;
  /** Sixteen hex digits from hashValues. */
  readonly key: string;
}

export interface EntryWork {
  readonly cacheDir: string;
  /** Fills the empty folder. Nothing of it is ever seen under the entry's name unless this succeeds. */
  readonly build: (folder: string) => Promise<void>;
  /** Called once if another process is making the same entry. */
  readonly onBusy?: () => void;
  readonly signal?: AbortSignal | undefined;
}

const waitDeadlineMs = 45 * 60_000;

/** Where a finished entry lies. */
export function entryPath(cacheDir: string, entry: CacheEntry): string {
  return join(cacheDir, entry.kind, entry.key);
}

/** Whether the entry is there, whole. */
export async function hasEntry(cacheDir: string, entry: CacheEntry): Promise<boolean> {
  return await stat(join(entryPath(cacheDir, entry), 'manifest.json')).then(
    () => true,
    () => false,
  );
}

/** The folder of a whole entry, made now if it is not there; of several processes one makes it and the others wait. */
export async function ensureEntry(entry: CacheEntry, work: EntryWork): Promise<string> {
  const path = entryPath(work.cacheDir, entry);
  if (await hasEntry(work.cacheDir, entry)) return path;
  using _lock = await waitForLock(entryLockPath(work.cacheDir, entry.kind, entry.key), {
    deadlineMs: waitDeadlineMs,
    signal: work.signal,
    ...(work.onBusy && { onBusy: work.onBusy }),
  });
  if (await hasEntry(work.cacheDir, entry)) return path;
  const building = join(work.cacheDir, '.building', `${entry.kind}-${entry.key}-${randomBytes(4).toString('hex')}`);
  await mkdir(building, { recursive: true });
  try {
    await work.build(building);
    await writeFile(join(building, 'manifest.json'), `${JSON.stringify({ ...entry, madeAt: new Date() }, null, 2)}\n`);
    await flushFileSystem(building);
    await mkdir(dirname(path), { recursive: true });
    await removeTree(path);
    await rename(building, path);
    await flushFolder(dirname(path));
  } finally {
    await removeTree(building);
  }
  return path;
}

async function flushFolder(path: string): Promise<void> {
  await using handle = await open(path, 'r');
  await handle.sync();
}

/** Makes sure that all files of the entry are on disk before its name is. */
async function flushFileSystem(folder: string): Promise<void> {
  await runCommand('sync', ['--file-system', folder]);
}
