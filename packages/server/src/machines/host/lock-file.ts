import { chmodSync, closeSync, openSync, statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';

export type LockMode = 'shared' | 'exclusive';

const sqliteBusy = 5;
const retryMs = 20;
/** Longer than any set-up takes: its programs have deadlines of their own. */
const waitDeadlineMs = 120_000;

/**
 * Takes the lock of a file, or returns undefined if it is taken. Shared locks exclude only exclusive ones. The lock holds
 * between the processes of a host, and the kernel releases it when the process dies.
 */
export function tryLock(path: string, mode: LockMode): Disposable | undefined {
  // SQLite keeps a kernel lock on the file while the transaction is open. Nothing is ever written to it.
  makePrivate(path);
  const database = new DatabaseSync(path);
  try {
    database.exec(mode === 'shared' ? 'BEGIN; SELECT count(*) FROM sqlite_schema' : 'BEGIN EXCLUSIVE');
  } catch (error) {
    database.close();
    if (error instanceof Error && 'errcode' in error && error.errcode === sqliteBusy) return undefined;
    throw error;
  }
  return {
    [Symbol.dispose]: () => {
      if (database.isOpen) database.close();
    },
  };
}

/** Creates the file if necessary. Whoever may read it could lock it, so only its owner may. */
function makePrivate(path: string): void {
  try {
    // Never opens a file that exists: closing any descriptor of it would release a lock that this process holds.
    closeSync(openSync(path, 'wx', 0o600));
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
    const { mode, uid } = statSync(path);
    if ((mode & 0o077) !== 0 && uid === process.getuid?.()) chmodSync(path, 0o600);
  }
}

/** Takes the lock of a file and waits for it if it is taken. */
export async function takeLock(path: string, mode: LockMode): Promise<Disposable> {
  const giveUpAtMs = performance.now() + waitDeadlineMs;
  for (;;) {
    const lock = tryLock(path, mode);
    if (lock) return lock;
    if (performance.now() > giveUpAtMs) {
      throw new Error(
        `Another Mayfly service has held the lock ${path} for ${waitDeadlineMs / 1000} seconds. Stop it, then try again.`,
      );
    }
    await delay(retryMs);
  }
}

/** Does work under a file's exclusive lock. */
export async function withLock<T>(path: string, work: () => Promise<T>): Promise<T> {
  using _lock = await takeLock(path, 'exclusive');
  return await work();
}
