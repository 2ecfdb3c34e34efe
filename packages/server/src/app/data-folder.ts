import { randomUUID } from 'node:crypto';
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { oneLine } from '../core/errors/api-error.ts';
import { tryLock } from '../machines/host/lock-file.ts';
import { StartError } from './start-error.ts';

/** The data folder, locked by this process until it is disposed of. */
export interface DataFolder extends Disposable {
  readonly databasePath: string;
  /** Created once. The database stores it, because its records describe the machines of this folder. */
  readonly id: string;
}

/** The beginnings of the names of all files and folders that the service creates in a data folder. */
const ownNames = ['admin.sock', 'id', 'lock', 'machines', 'mayfly.db', 'preview-authority'];

/** Creates the folder if necessary and locks it: one service per data folder. The kernel releases the lock when the process ends. */
export function holdDataFolder(path: string): DataFolder {
  try {
    makeFolder(path);
    accessSync(path, constants.W_OK | constants.X_OK);
  } catch (cause) {
    throw new StartError(
      `The data folder ${path} is not writable (${oneLine(cause)}). Run as root, or set MAYFLY_DATA_DIR to another folder.`,
      { cause },
    );
  }
  const lock = tryLock(join(path, 'lock'), 'exclusive');
  if (lock === undefined) {
    throw new StartError(
      `Another Mayfly service is using the data folder ${path}. Stop it, or set MAYFLY_DATA_DIR to another folder.`,
    );
  }
  return { ...lock, databasePath: join(path, 'mayfly.db'), id: readOrCreateId(path) };
}

/** Whether a service is using the folder. Creates nothing. */
export function isDataFolderInUse(path: string): boolean {
  if (!existsSync(join(path, 'lock'))) return false;
  using lock = tryLock(join(path, 'lock'), 'exclusive');
  return lock === undefined;
}

/** Removes everything that the service created in the folder, and the folder itself if nothing else is in it. Throws if a service uses it. */
export function removeDataFolder(path: string): void {
  using _held = holdDataFolder(path);
  for (const name of readdirSync(path)) {
    if (ownNames.some((own) => name === own || name.startsWith(`${own}.`) || name.startsWith(`${own}-`))) {
      rmSync(join(path, name), { recursive: true });
    }
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

/** Like mkdir -p. Node's own recursive mkdir never returns below a folder that accepts no entries, such as /proc. */
function makeFolder(path: string): void {
  if (existsSync(path)) return;
  makeFolder(dirname(path));
  mkdirSync(path);
}
