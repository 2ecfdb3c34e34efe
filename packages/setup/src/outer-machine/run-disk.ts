import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runProgram } from '@mayfly/server/system';
import type { CacheEntry } from '../cache/entry.ts';

export interface RunDiskContents {
  /** The checkout to copy, with its npm packages. */
  readonly projectRoot: string;
  readonly cacheDir: string;
  /** The finished cache entries to bring along. */
  readonly entries: readonly CacheEntry[];
  /** Shell script that the outer machine runs in its copy of the checkout. */
  readonly command: string;
}

/** Where the disk is mounted in the outer machine. */
export const mountPoint = '/mayfly';

/** Free space for templates and the machines of the suites; the file is sparse. */
const diskSize = '40G';

/** Not needed for a run: the history, and the data of a service that was started from this checkout. */
const leftOut: readonly string[] = ['.git', '.mayfly'];

/**
 * Mounts the checkout and the cache entries, which are its arguments, below the folder that mke2fs reads, so that nothing is copied twice.
 * Its mount namespace ends with the script.
 */
const script = `set -e
mount --bind "$checkout" "$staging/checkout"
for name in ${leftOut.join(' ')}; do
  [ ! -d "$staging/checkout/$name" ] || mount -t tmpfs tmpfs "$staging/checkout/$name"
done
for entry; do mount --bind "$cache/$entry" "$staging/cache/$entry"; done
exec mke2fs -q -t ext4 -O ^has_journal -d "$staging" "$disk" ${diskSize}
`;

/** Writes the second disk of the outer machine: the checkout, the cache, and the command to run. */
export async function writeRunDisk(
  diskPath: string,
  stagingDir: string,
  contents: RunDiskContents,
  signal: AbortSignal,
): Promise<void> {
  const entries = contents.entries.map(({ kind, key }) => `${kind}/${key}`);
  for (const name of ['checkout', 'tmp', ...entries.map((entry) => `cache/${entry}`)]) {
    await mkdir(join(stagingDir, name), { recursive: true });
  }
  await writeFile(join(stagingDir, 'command'), contents.command);
  const { projectRoot: checkout, cacheDir: cache } = contents;
  await runProgram('unshare', ['--mount', '--propagation', 'private', 'sh', '-c', script, 'sh', ...entries], {
    env: { ...process.env, checkout, cache, staging: stagingDir, disk: diskPath },
    signal,
  });
}
