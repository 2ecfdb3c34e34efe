import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

/** Where a package is for a module in a folder, as Node.js looks for it. */
const findPackage = (name: string, from: string): string | undefined => {
  const folder = join(from, 'node_modules', name);
  if (existsSync(join(folder, 'package.json'))) return folder;
  return from === '/' ? undefined : findPackage(name, dirname(from));
};

/** The folders of a package and of all that it needs when it runs; what is optional only where it is installed. */
export const moduleFolders = async (name: string, from: string): Promise<readonly string[]> => {
  const folders = new Set<string>();
  const add = async (wanted: string, near: string, isOptional: boolean): Promise<void> => {
    const folder = findPackage(wanted, near);
    if (folder === undefined && !isOptional) throw new Error(`${wanted} is not installed`);
    if (folder === undefined || folders.has(folder)) return;
    folders.add(folder);
    const manifest = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as Manifest;
    for (const next of Object.keys(manifest.dependencies ?? {})) {
      await add(next, folder, next in (manifest.optionalDependencies ?? {}));
    }
    for (const next of Object.keys(manifest.optionalDependencies ?? {})) await add(next, folder, true);
  };
  await add(name, from, false);
  return [...folders];
};
