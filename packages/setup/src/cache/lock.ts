import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import { SetupError } from '../setup-error.ts';

/** A held lock. The kernel releases it when the process dies, however it dies. */
export interface HeldLock extends Disposable {
  release(): void;
}

const sqliteBusy = 5;
const retryMs = 200;

/** The lock of that file if nobody holds it, in this process or another; undefined when somebody does. */
export async function tryLock(path: string): Promise<HeldLock | undefined> {
  await mkdir(dirname(path), { recursive: true });
  const database = new DatabaseSync(path);
  try {
    // SQLite turns this into a kernel lock on the file that is held until the connection closes.
    database.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    database.close();
    if (error instanceof Error && 'errcode' in error && error.errcode === sqliteBusy) return undefined;
    throw error;
  }
  const release = () => {
    if (database.isOpen) database.close();
  };
  return { release, [Symbol.dispose]: release };
}

export interface LockWait {
  /** Give up after this long. */
  readonly deadlineMs: number;
  /** Called once if somebody else holds the lock. */
  readonly onBusy?: () => void;
  readonly signal?: AbortSignal | undefined;
}

/** The lock of that file, waiting for whoever holds it. */
export async function waitForLock(path: string, wait: LockWait): Promise<HeldLock> {
  const giveUpAtMs = performance.now() + wait.deadlineMs;
  let announced = false;
  for (;;) {
    const lock = await tryLock(path);
    if (lock) return lock;
    if (!announced) wait.onBusy?.();
    announced = true;
    if (performance.now() > giveUpAtMs) {
      throw new SetupError(
        `Another set-up has held ${path} for ${Math.round(wait.deadlineMs / 60_000)} minutes. End it, then try again.`,
      );
    }
    await delay(retryMs, undefined, wait.signal ? { signal: wait.signal } : {});
  }
}
