import { chmodSync, existsSync, lchownSync, lstatSync, mkdirSync, readdirSync, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { isOwn } from '../app/data-folder.ts';
import { StartError } from '../app/start-error.ts';
import { serviceFolders, type UserIds } from '../machines/confinement/spec.ts';

/** What stays in the data folder itself, because it belongs to the host process. */
const hostNames = ['lock', 'machines', 'run', 'service'];

/**
 * Gives the service its own part of the data folder, which it owns. A data folder of an earlier version, in which root owned everything, is moved
 * there file by file; if that is interrupted, the next start continues. The caller holds the folder's lock.
 */
export function splitDataFolder(dataDir: string, user: UserIds): ReturnType<typeof serviceFolders> {
  const folders = serviceFolders(dataDir);
  const { serviceDir, runDir } = folders;
  if (!existsSync(serviceDir)) mkdirSync(serviceDir, { mode: 0o700 });
  for (const name of readdirSync(dataDir).filter(isServices)) {
    const target = join(serviceDir, name);
    if (existsSync(target)) {
      throw new StartError(
        `Both ${join(dataDir, name)} and ${target} exist. The service uses the latter; move the former out of the data folder if it is not needed.`,
      );
    }
    renameSync(join(dataDir, name), target);
  }
  // The service sees it through a mount, so it must be there before the host process makes its sockets in it.
  if (!existsSync(runDir)) mkdirSync(runDir, { mode: 0o710 });
  lchownSync(runDir, 0, user.gid);
  // Only if necessary: root without CAP_FOWNER may not change the mode of another user's folder.
  if ((statSync(serviceDir).mode & 0o777) !== 0o700) chmodSync(serviceDir, 0o700);
  giveTo(serviceDir, user);
  return folders;
}

function isServices(name: string): boolean {
  return (
    isOwn(name) && !hostNames.some((own) => name === own || name.startsWith(`${own}.`) || name.startsWith(`${own}-`))
  );
}

/** Changes the owner of everything in a folder. The user's id differs after set-up made the user anew. Links are not followed. */
function giveTo(path: string, { uid, gid }: UserIds): void {
  const found = lstatSync(path);
  if (found.isSymbolicLink()) return;
  if (found.isDirectory()) for (const name of readdirSync(path)) giveTo(join(path, name), { uid, gid });
  if (found.uid !== uid || found.gid !== gid) lchownSync(path, uid, gid);
}
