import { randomUUID } from 'node:crypto';
import { accessSync, constants, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { oneLine } from '../core/errors/one-line.ts';
import { StartError } from './start-error.ts';

/** The data folder, held by this process alone until disposed of. */
export interface DataFolder extends Disposable {
  readonly databasePath: string;
  /** Made once, so that a database knows whose machines its records speak of. */
  readonly id: string;
}

/** Makes the folder if need be and locks it: one service per data folder. The lock goes with the process, however it ends. */
export function holdDataFolder(path: string): DataFolder {
  try {
    makeFolder(path);
    accessSync(path, constants.W_OK | constants.X_OK);
  } catch (cause) {
    throw new StartError(`The data folder ${path} cannot be written to (${oneLine(cause)}). Set MAYFLY_DATA_DIR.`, {
      cause,
    });
  }
  const lock = new DatabaseSync(join(path, 'lock'));
  try {
    lock.exec('BEGIN EXCLUSIVE');
  } catch (cause) {
    lock.close();
    throw new StartError(`Another Mayfly service is using the data folder ${path}. Stop it or set MAYFLY_DATA_DIR.`, {
      cause,
    });
  }
  return { databasePath: join(path, 'mayfly.db'), id: readOrMakeId(path), [Symbol.dispose]: () => lock.close() };
}

/** The folder's id; written beside and renamed, so that it is never half there. */
function readOrMakeId(path: string): string {
  const file = join(path, 'id');
  if (!existsSync(file)) {
    writeFileSync(`${file}.new`, `${randomUUID()}\n`);
    renameSync(`${file}.new`, file);
  }
  return readFileSync(file, 'utf8').trim();
}

/** Like mkdir -p. Node's own never returns where a folder exists but takes no entries, as in /proc. */
function makeFolder(path: string): void {
  if (existsSync(path)) return;
  makeFolder(dirname(path));
  mkdirSync(path);
}
