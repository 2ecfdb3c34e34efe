import {
  chmodSync,
  closeSync,
  constants,
  fchownSync,
  fstatSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  type Stats,
  statSync,
} from 'node:fs';
import { join } from 'node:path';
import { isOwn } from '../app/data-folder.ts';
import { type ServiceFolders, serviceFolders, type UserIds } from '../confinement/spec.ts';
import { agentSocketsOf, maxSocketPathBytes } from '../machines/protocol/run-folder.ts';
import { makeRunFolder } from '../machines/qemu/agent-sockets.ts';
import { StartFailure } from '../process/start-failure.ts';

/** What stays in the data folder itself, because it belongs to the host process or to the supervisor. */
const hostNames = ['bases', 'lock', 'machines', 'ports.sock', 'run', 'service', 'snapshots'];

/** What a backup holds of the service's folder, apart from folders. */
const restoredNames = ['id', 'secret-key', 'mayfly.db', 'mayfly.db-wal', 'mayfly.db-shm'];

/** An id as long as the longest id of a machine. */
const longestMachineId = `pool_${'x'.repeat(24)}`;

/** What a data folder looks like before a start. */
export interface LayoutState {
  readonly dataDir: string;
  readonly ownerUid: number;
  /** Everything in it. */
  readonly names: readonly string[];
  /** Its folder "service"; undefined before the first start. */
  readonly service: (UserIds & { readonly isFolder: boolean; readonly names: readonly string[] }) | undefined;
}

/** What a start has to change. */
export interface LayoutChanges {
  /** What an earlier version, in which root owned everything, left in the data folder itself. It becomes the service's. */
  readonly moved: readonly string[];
  /** Whether the folder "service" and all it contains has to become the service's: it is new, or belongs to a user with another id. */
  readonly givesAll: boolean;
}

/**
 * Decides how a data folder becomes one of which a part belongs to the service. A folder that the service owns already is never walked: a
 * service that an attacker controls would exchange folders for links meanwhile, and root would give away what these point to.
 */
export function decideLayout({ dataDir, ownerUid, names, service }: LayoutState, user: UserIds): LayoutChanges {
  if (ownerUid === user.uid) {
    throw new StartFailure(
      `The data folder ${dataDir} belongs to the user of the service, who may own only the folder service in it. Make it root's: chown root:root ${dataDir}`,
    );
  }
  if (service && !service.isFolder) {
    throw new StartFailure(
      `${join(dataDir, 'service')} is not a folder. Move it out of the data folder, then start again.`,
    );
  }
  const moved = names.filter(isServices);
  const taken = moved.filter((name) => service?.names.includes(name));
  if (taken.length > 0) {
    throw new StartFailure(
      `The data folder ${dataDir} contains ${taken.join(', ')} twice: in the folder service, which Mayfly uses, and beside it, where earlier versions keep them. If you started an earlier version meanwhile, move those beside it out of the data folder.`,
    );
  }
  return { moved, givesAll: service?.uid !== user.uid || service.gid !== user.gid };
}

function isServices(name: string): boolean {
  return (
    isOwn(name) && !hostNames.some((own) => name === own || name.startsWith(`${own}.`) || name.startsWith(`${own}-`))
  );
}

/**
 * Gives the service its own part of the data folder. If that is interrupted, the next start continues. The caller holds the folder's locks, and no
 * service of this data folder runs.
 */
export async function splitDataFolder(dataDir: string, user: UserIds): Promise<ServiceFolders> {
  const folders = serviceFolders(dataDir);
  const { serviceDir, runDir } = folders;
  const { moved, givesAll } = decideLayout(readLayout(dataDir), user);
  if (givesAll) {
    mkdirSync(serviceDir, { recursive: true, mode: 0o700 });
    // Root's until everything in it is the service's, so that an interruption is noticed.
    lchownSync(serviceDir, 0, 0);
    chmodSync(serviceDir, 0o700);
  }
  for (const name of moved) {
    // First, because nobody but root can reach it here.
    giveTree(join(dataDir, name), user);
    renameSync(join(dataDir, name), join(serviceDir, name));
  }
  if (givesAll) giveTree(serviceDir, user);
  else giveRestoredFiles(serviceDir, user);
  // The service sees it through a mount, so it must be there before the host process makes its sockets in it.
  await makeRunFolder(runDir, user.gid);
  return folders;
}

function readLayout(dataDir: string): LayoutState {
  const { serviceDir } = serviceFolders(dataDir);
  const found = lstatSync(serviceDir, { throwIfNoEntry: false });
  const isFolder = found?.isDirectory() ?? false;
  return {
    dataDir,
    ownerUid: statSync(dataDir).uid,
    names: readdirSync(dataDir),
    service: found && { uid: found.uid, gid: found.gid, isFolder, names: isFolder ? readdirSync(serviceDir) : [] },
  };
}

/**
 * Changes the owner of a file, or of a folder and everything in it, the folder last. Links are not followed, not even by a folder that is
 * exchanged for one meanwhile: each folder is opened once and reached through its descriptor.
 */
function giveTree(path: string, user: UserIds): void {
  const found = lstatSync(path);
  if (found.isSymbolicLink()) return;
  if (!found.isDirectory()) {
    lchownSync(path, user.uid, user.gid);
    return;
  }
  const folder = openSync(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  try {
    const inside = `/proc/self/fd/${folder}`;
    for (const name of readdirSync(inside)) giveTree(join(inside, name), user);
    fchownSync(folder, user.uid, user.gid);
  } finally {
    closeSync(folder);
  }
}

/**
 * Gives the service the files that root put into its folder by restoring a backup. The service may have made anything of these names meanwhile, so each
 * file is opened without following links. Only a regular file that belongs to root and has no second name is given: it may
 * not be a link to another file of root.
 */
function giveRestoredFiles(serviceDir: string, user: UserIds): void {
  const folder = openSync(serviceDir, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  try {
    for (const name of restoredNames) giveFileOfRoot(`/proc/self/fd/${folder}/${name}`, user);
  } finally {
    closeSync(folder);
  }
}

function giveFileOfRoot(path: string, user: UserIds): void {
  const isOfRoot = (found: Stats) => found.isFile() && found.uid === 0 && found.nlink === 1;
  const seen = lstatSync(path, { throwIfNoEntry: false });
  if (seen === undefined || !isOfRoot(seen)) return;
  // Not blocked by a pipe, should the service exchange the file for one now.
  const file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    if (isOfRoot(fstatSync(file))) fchownSync(file, user.uid, user.gid);
  } finally {
    closeSync(file);
  }
}

/** Refuses a data folder whose sockets would have longer paths than Linux accepts. Nothing is created before. */
export function refuseLongPath(dataDir: string): void {
  const { control } = agentSocketsOf(serviceFolders(dataDir).runDir, longestMachineId);
  const ownBytes = Buffer.byteLength(dataDir);
  const mostBytes = maxSocketPathBytes - (Buffer.byteLength(control) - ownBytes);
  if (ownBytes <= mostBytes) return;
  throw new StartFailure(
    `The path of the data folder ${dataDir} has ${ownBytes} bytes, which is too long for the unix sockets in it. Set MAYFLY_DATA_DIR to a path of at most ${mostBytes} bytes.`,
  );
}
