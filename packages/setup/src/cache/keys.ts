import { createHash } from 'node:crypto';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join, relative } from 'node:path';

/** The key of a cache entry: sixteen hex digits that change when any of the named values changes. */
export function hashValues(values: Readonly<Record<string, string>>): string {
  const hash = createHash('sha256');
  for (const name of Object.keys(values).sort()) {
    hash.update(`${JSON.stringify([name, values[name]])}\n`);
  }
  return hash.digest('hex').slice(0, 16);
}

/** Digest of every file in a folder that `include` accepts: path, executable bit and content. */
export async function digestFolder(folder: string, include: (path: string) => boolean = () => true): Promise<string> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
    .filter(include)
    .sort();
  const hash = createHash('sha256');
  for (const path of paths) {
    const executable = ((await stat(join(folder, path))).mode & 0o100) !== 0;
    const bytes = await readFile(join(folder, path));
    hash.update(`${JSON.stringify([path, executable, bytes.length])}\n`).update(bytes);
  }
  return hash.digest('hex');
}
