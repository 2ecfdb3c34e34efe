import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { tryLock } from './lock.ts';
import { removeTree } from './remove-tree.ts';

/** The lock that guards the making of one entry. */
export function entryLockPath(cacheDir: string, kind: string, key: string): string {
  return join(cacheDir, '.locks', `${kind}-${key}.lock`);
}

/** Removes half-made entries whose maker is gone, told by the fact that nobody holds the entry's lock. */
export async function sweepBuilding(cacheDir: string): Promise<void> {
  const building = join(cacheDir, '.building');
  const names = await readdir(building).catch(() => []);
  for (const name of names) {
    const [, kind, key] = /^(.+)-([0-9a-f]{16})-[^-]+$/.exec(name) ?? [];
    if (kind === undefined || key === undefined) continue;
    using lock = await tryLock(entryLockPath(cacheDir, kind, key));
    if (lock) await removeTree(join(building, name));
  }
}
