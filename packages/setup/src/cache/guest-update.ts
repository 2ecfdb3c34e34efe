import { mkdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { oldGuestDays } from '@mayfly/server/supervisor';
import { type CacheEntry, entryPath, manifestPath } from './entry.ts';

const dayMs = 86_400_000;

/**
 * The last update of the guest, which is part of the keys of its kernel and image: their recipes do not change when Debian's packages do. Empty
 * before the first update. Checkouts share it with the cache.
 */
export async function readGuestUpdate(cacheDir: string): Promise<string> {
  return await readLine(updatePath(cacheDir));
}

/** Begins an update: a new one, or one that was interrupted less than a day ago, so that what it built is not built again. */
export async function beginGuestUpdate(cacheDir: string, nowMs = Date.now()): Promise<string> {
  const path = pendingPath(cacheDir);
  const pending = await readLine(path);
  const begunMs = (await stat(path).catch(() => undefined))?.mtimeMs ?? 0;
  if (pending !== '' && nowMs - begunMs < dayMs) return pending;
  const update = new Date(nowMs).toISOString();
  await mkdir(cacheDir, { recursive: true });
  await writeFile(path, `${update}\n`);
  return update;
}

/** Makes every later set-up use what the update built. */
export async function finishGuestUpdate(cacheDir: string): Promise<void> {
  await rename(pendingPath(cacheDir), updatePath(cacheDir));
}

function updatePath(cacheDir: string): string {
  return join(cacheDir, 'guest-update');
}

function pendingPath(cacheDir: string): string {
  return `${updatePath(cacheDir)}.pending`;
}

async function readLine(path: string): Promise<string> {
  return (await readFile(path, 'utf8').catch(() => '')).trim();
}

/** When the oldest of these entries was built, in milliseconds since 1970. */
export async function builtAtMs(cacheDir: string, entries: readonly CacheEntry[]): Promise<number> {
  const times = await Promise.all(
    entries.map(async (entry) => {
      const manifest: unknown = JSON.parse(await readFile(manifestPath(entryPath(cacheDir, entry)), 'utf8'));
      const made = typeof manifest === 'object' && manifest !== null && 'madeAt' in manifest ? manifest.madeAt : '';
      return Date.parse(String(made));
    }),
  );
  return Math.min(...times);
}

/** A warning for the operator if the guest is old; undefined if it is not. Nothing is rebuilt because of its age alone. */
export function describeAge(guestBuiltAtMs: number, nowMs: number): string | undefined {
  const days = Math.floor((nowMs - guestBuiltAtMs) / dayMs);
  if (days <= oldGuestDays) return undefined;
  return `! The guest's kernel and image are ${days} days old and lack the security updates since. Update them: npm run update-guest`;
}
