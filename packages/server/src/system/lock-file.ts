import { chmodSync, closeSync, openSync, readFileSync, statSync } from 'node:fs';
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

/** The process that holds the exclusive lock of a file; undefined if none does, or if the kernel does not say which. */
export function lockHolder(path: string): number | undefined {
  try {
    const { dev, ino } = statSync(path, { bigint: true });
    return holderIn(readFileSync('/proc/locks', 'utf8'), dev, ino);
  } catch {
    return undefined;
  }
}

/** Finds the holder of a write lock in the text of /proc/locks: "1: POSIX  ADVISORY  WRITE 123 08:01:456 0 EOF". */
export function holderIn(locks: string, dev: bigint, ino: bigint): number | undefined {
  // As makedev(3) composes it.
  const major = ((dev >> 8n) & 0xfffn) | ((dev >> 32n) & ~0xfffn);
  const minor = (dev & 0xffn) | ((dev >> 12n) & ~0xffn);
  const hexadecimal = (part: bigint) => part.toString(16).padStart(2, '0');
  const file = `${hexadecimal(major)}:${hexadecimal(minor)}:${ino}`;
  for (const line of locks.split('\n')) {
    const [, pid, locked] = / WRITE +(\d+) (\S+) /.exec(line) ?? [];
    if (locked === file && Number(pid) > 0) return Number(pid);
  }
  return undefined;
}

/** Creates the file if necessary. A user who may read it could lock it, so only its owner may. */
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
        `Another Mayfly host process has held the lock ${path} for ${waitDeadlineMs / 1000} seconds. Stop it, then try again.`,
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
