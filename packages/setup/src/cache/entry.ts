import { randomBytes } from 'node:crypto';
import { mkdir, open, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { runProgram } from '@mayfly/server/system';
import { SetupError } from '../announce.ts';
import { tryLock, waitForLock } from './lock.ts';

/** Something that set-up builds once and keeps, addressed by the hash of its inputs. */
export interface CacheEntry {
  /** Folder name in the cache, e.g. "kernel"; [a-z-]+. */
  readonly kind: string;
  /** Sixteen hex digits from hashValues. */
  readonly key: string;
}

export interface EntryWork {
  readonly cacheDir: string;
  /** Fills the empty staging folder, which becomes the entry only if this succeeds. */
  readonly build: (stagingDir: string) => Promise<void>;
  /** Called once if another process is building the same entry. */
  readonly onBusy?: () => void;
  readonly signal?: AbortSignal | undefined;
}

export const waitDeadlineMs = 45 * 60_000;

/** The folder of a finished entry, which is marked as used; undefined when it has to be built. */
export async function findEntry(cacheDir: string, entry: CacheEntry): Promise<string | undefined> {
  const path = entryPath(cacheDir, entry);
  return (await markUsed(path)) ? path : undefined;
}

/** Marks an entry as used now, so that it is not pruned. Returns false if it does not exist. */
export async function markUsed(path: string): Promise<boolean> {
  const now = new Date();
  return await utimes(manifestPath(path), now, now).then(
    () => true,
    () => false,
  );
}

/** When an entry was last used, in milliseconds since 1970; undefined if it does not exist. */
export async function lastUsedMs(path: string): Promise<number | undefined> {
  return (await stat(manifestPath(path)).catch(() => undefined))?.mtimeMs;
}

/** The folder of a finished entry, built now if it does not exist. If several processes need it, one builds it and the others wait. */
export async function ensureEntry(entry: CacheEntry, work: EntryWork): Promise<string> {
  const { cacheDir, onBusy, signal } = work;
  const cached = await findEntry(cacheDir, entry);
  if (cached) return cached;
  using _lock = await waitForLock(entryLockPath(cacheDir, entry), {
    deadlineMs: waitDeadlineMs,
    signal,
    ...(onBusy && { onBusy }),
  });
  const builtMeanwhile = await findEntry(cacheDir, entry);
  if (builtMeanwhile) return builtMeanwhile;
  const path = entryPath(cacheDir, entry);
  await withStagingFolder(cacheDir, entry, async (stagingDir) => {
    await work.build(stagingDir);
    await writeFile(manifestPath(stagingDir), `${JSON.stringify({ ...entry, madeAt: new Date() }, null, 2)}\n`);
    // All files of the entry must be on disk before its name is.
    await runProgram('sync', ['--file-system', stagingDir]);
    await mkdir(dirname(path), { recursive: true });
    await removeTree(path);
    await rename(stagingDir, path);
    await flushFolder(dirname(path));
  });
  return path;
}

/**
 * Does work in a new, empty folder of the cache and removes the folder afterwards. The caller holds the entry's lock. If this process is
 * killed, the next set-up removes the folder.
 */
export async function withStagingFolder<T>(
  cacheDir: string,
  { kind, key }: CacheEntry,
  work: (stagingDir: string) => Promise<T>,
): Promise<T> {
  const stagingDir = join(stagingRoot(cacheDir), `${kind}-${key}-${randomBytes(4).toString('hex')}`);
  await mkdir(stagingDir, { recursive: true });
  try {
    return await work(stagingDir);
  } finally {
    await removeTree(stagingDir);
  }
}

/** The folder of an entry, which exists once it is finished. */
export function entryPath(cacheDir: string, { kind, key }: CacheEntry): string {
  return join(cacheDir, kind, key);
}

/** The lock that guards building and removing an entry. */
export function entryLockPath(cacheDir: string, { kind, key }: CacheEntry): string {
  return join(cacheDir, '.locks', `${kind}-${key}.lock`);
}

/** Removes the staging folders of set-ups that were killed. One whose entry's lock is held is still in use. */
export async function removeAbandonedStaging(cacheDir: string): Promise<void> {
  for (const name of await readdir(stagingRoot(cacheDir)).catch(() => [])) {
    const [, kind, key] = /^(.+)-([0-9a-f]{16})-[^-]+$/.exec(name) ?? [];
    if (kind === undefined || key === undefined) continue;
    using lock = await tryLock(entryLockPath(cacheDir, { kind, key }));
    if (lock) await removeTree(join(stagingRoot(cacheDir), name));
  }
}

/** Removes a folder, even if an ending process still writes to it. Throws if something is mounted inside: that is not ours to remove. */
export async function removeTree(path: string): Promise<void> {
  const [mounted] = findMountsBelow(await readFile('/proc/self/mountinfo', 'utf8'), path);
  if (mounted !== undefined) {
    throw new SetupError(`${path} cannot be removed: something is mounted on ${mounted}. Unmount it, then try again.`);
  }
  await rm(path, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
}

/** The mount points of a mountinfo text that are at or below a folder. */
export function findMountsBelow(mountinfo: string, folder: string): readonly string[] {
  return mountinfo
    .split('\n')
    .map((line) => decodeOctal(line.split(' ')[4] ?? ''))
    .filter((point) => point === folder || point.startsWith(`${folder}/`));
}

/** The kernel writes a space in a path as \040. */
function decodeOctal(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)));
}

function stagingRoot(cacheDir: string): string {
  return join(cacheDir, '.building');
}

/** Written last; its modification time is when the entry was last used. */
export function manifestPath(folder: string): string {
  return join(folder, 'manifest.json');
}

async function flushFolder(path: string): Promise<void> {
  await using handle = await open(path, 'r');
  await handle.sync();
}
