import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { UserIds } from './spec.ts';

/** Where the code of the service is looked through completely. In node_modules only the folders of packages are: they are written by one npm. */
const ownCode = ['packages/contract', 'packages/server'];
const others = ['package.json', 'node_modules'];

/**
 * Why the service's user could not read its own code, and what to do about it; undefined if it can. A checkout that was cloned with a strict
 * umask belongs to its owner alone.
 */
export async function explainUnreadableCode(
  { checkout, nodePath }: { readonly checkout: string; readonly nodePath: string },
  user: UserIds,
): Promise<string | undefined> {
  const paths = [nodePath, ...others.map((path) => join(checkout, path))];
  for (const folder of ownCode) {
    const root = join(checkout, folder);
    const inner = await readdir(root, { recursive: true });
    paths.push(root, ...inner.filter((path) => !path.includes('node_modules')).map((path) => join(root, path)));
  }
  const packages = await readdir(join(checkout, 'node_modules'));
  paths.push(...packages.map((name) => join(checkout, 'node_modules', name)));
  for (const path of paths) {
    if (!(await isReadable(path, user))) {
      return `The service runs as an unprivileged user, which may not read ${path}. Let others read the checkout: chmod -R o+rX ${checkout}`;
    }
  }
  return undefined;
}

/** Whether the permissions of a file or folder let a user read and enter it. The folders above it do not matter: the service sees it through a mount. */
async function isReadable(path: string, { uid, gid }: UserIds): Promise<boolean> {
  const found = await stat(path).catch(() => undefined);
  // A link that leads nowhere is nobody's code.
  if (!found) return true;
  const wanted = found.isDirectory() ? 0o5 : 0o4;
  const shift = found.uid === uid ? 6 : found.gid === gid ? 3 : 0;
  return ((found.mode >> shift) & wanted) === wanted;
}
