import { randomBytes, randomUUID } from 'node:crypto';
import {
  accessSync,
  chmodSync,
  constants,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { oneLine } from '../core/errors/api-error.ts';
import { secretKeyBytes } from '../core/sign-in/secret-box.ts';
import { StartFailure } from '../process/start-failure.ts';
import { lockHolder, tryLock } from '../system/lock-file.ts';
import { ballastName } from './ballast.ts';

/** The data folder, locked by this process until it is disposed of. */
export interface DataFolder extends Disposable {
  readonly databasePath: string;
  /** Created once. The database stores it, because its records describe the machines of this folder. */
  readonly id: string;
  /** Created once. What secrets in the database are sealed with. */
  readonly secretKey: Buffer;
}

/** Holds the first API key when it could not be shown on a terminal. */
const firstKeyName = 'first-api-key';

/** Holds the key that secrets in the database are sealed with. */
const secretKeyName = 'secret-key';

/** The beginnings of the names of all files and folders that the service creates in a data folder. */
const ownNames = [
  'admin.sock',
  ballastName,
  'bases',
  firstKeyName,
  'id',
  'lock',
  'machines',
  'mayfly.db',
  'ports.sock',
  'preview-authority',
  'run',
  secretKeyName,
  'service',
  'snapshots',
];

/**
 * Creates the folder if necessary, closes it to other users and locks it: one service per data folder. The kernel releases the lock when
 * the process ends.
 */
export function holdDataFolder(path: string): DataFolder {
  return hold(path, { closed: true });
}

function hold(path: string, { closed }: { readonly closed: boolean }): DataFolder {
  const lock = lockFolder(path, { closed });
  return {
    ...lock,
    databasePath: join(path, 'mayfly.db'),
    id: readOrCreateId(path),
    secretKey: readOrCreateSecretKey(path),
  };
}

/** The lock that a process holds while it uses the machines or the database of a folder. */
const usersLock = 'lock';

/** The lock of the supervisor, which it holds also while the host process is being restarted and nobody holds the other one. */
export const supervisorsLock = 'lock-supervisor';

/** Creates the folder if necessary and takes one of its locks. */
export function lockFolder(
  path: string,
  { closed, name = usersLock }: { readonly closed: boolean; readonly name?: string },
): Disposable {
  try {
    makeFolder(path);
    accessSync(path, constants.W_OK | constants.X_OK);
  } catch (cause) {
    throw new StartFailure(
      `The data folder ${path} is not writable (${oneLine(cause)}). Run as root, or set MAYFLY_DATA_DIR to another folder.`,
      { cause },
    );
  }
  if (closed) closeToOthers(path);
  const lock = tryLock(join(path, name), 'exclusive');
  if (lock !== undefined) return lock;
  const pid = lockHolder(join(path, name));
  const holder = pid === undefined ? '' : ` (process ${pid})`;
  throw new StartFailure(
    `Another Mayfly service${holder} is using the data folder ${path}. Stop it, or set MAYFLY_DATA_DIR to another folder.`,
  );
}

/**
 * Lets only the owner into the folder. Each QEMU runs under a uid of its own, but gets its files by mounts that root made. A folder that holds
 * other things is refused instead of changed: it may be /tmp or /srv.
 */
function closeToOthers(path: string): void {
  if ((statSync(path).mode & 0o077) === 0) return;
  const foreign = readdirSync(path).filter((name) => name !== 'lost+found' && !isOwn(name));
  if (foreign.length > 0) {
    throw new StartFailure(
      `The data folder ${path} is open to other users and holds files that are not Mayfly's (${foreign.slice(0, 3).join(', ')}). Set MAYFLY_DATA_DIR to a folder that only Mayfly uses.`,
    );
  }
  chmodSync(path, 0o700);
}

/** Whether a file or folder with this name in a data folder is Mayfly's. */
export function isOwn(name: string): boolean {
  return ownNames.some((own) => name === own || name.startsWith(`${own}.`) || name.startsWith(`${own}-`));
}

/** Writes the first API key to a file that only the owner of the data folder can read, and returns its path. */
export function writeFirstKey(path: string, apiKey: string): string {
  const file = join(path, firstKeyName);
  rmSync(file, { force: true });
  writeFileSync(file, `${apiKey}\n`, { mode: 0o600, flag: 'wx', flush: true });
  return file;
}

/** Whether a supervisor, a host process or a service is using the folder. Creates nothing. */
export function isDataFolderInUse(path: string): boolean {
  return [supervisorsLock, usersLock].some((name) => isLocked(join(path, name)));
}

function isLocked(path: string): boolean {
  if (!existsSync(path)) return false;
  using lock = tryLock(path, 'exclusive');
  return lock === undefined;
}

/** Removes everything that the service created in the folder, and the folder itself if nothing else is in it. Throws if a service uses it. */
export function removeDataFolder(path: string): void {
  using _supervisor = lockFolder(path, { closed: false, name: supervisorsLock });
  using _held = hold(path, { closed: false });
  for (const name of readdirSync(path)) {
    if (isOwn(name)) rmSync(join(path, name), { recursive: true });
  }
  if (readdirSync(path).length === 0) rmdirSync(path);
}

/** Reads the folder's id. A new one is written to a temporary file and renamed, so that it is never incomplete. */
function readOrCreateId(path: string): string {
  const file = join(path, 'id');
  if (!existsSync(file)) {
    writeFileSync(`${file}.new`, `${randomUUID()}\n`);
    renameSync(`${file}.new`, file);
  }
  return readFileSync(file, 'utf8').trim();
}

/** Reads the key, which only the owner of the folder can read. Throws a StartFailure if it is damaged: a new one could open nothing that is sealed. */
function readOrCreateSecretKey(path: string): Buffer {
  const file = join(path, secretKeyName);
  if (!existsSync(file)) {
    const created = `${file}.new`;
    rmSync(created, { force: true });
    writeFileSync(created, `${randomBytes(secretKeyBytes).toString('hex')}\n`, {
      mode: 0o600,
      flag: 'wx',
      flush: true,
    });
    renameSync(created, file);
  }
  const key = Buffer.from(readFileSync(file, 'utf8').trim(), 'hex');
  if (key.length === secretKeyBytes) return key;
  throw new StartFailure(
    `The file ${file} is damaged. Restore it from a backup, or delete it: two-factor authentication then has to be set up again.`,
  );
}

/** Like mkdir -p, but nobody else may enter the folder itself. Node's own recursive mkdir never returns below a folder that accepts no entries, such as /proc. */
function makeFolder(path: string): void {
  if (existsSync(path)) return;
  makeParent(dirname(path));
  mkdirSync(path, { mode: 0o700 });
}

function makeParent(path: string): void {
  if (existsSync(path)) return;
  makeParent(dirname(path));
  mkdirSync(path);
}
