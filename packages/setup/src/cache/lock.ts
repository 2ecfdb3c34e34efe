import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { tryLock as tryFileLock } from '@mayfly/server/system';
import { SetupError } from '../announce.ts';

const retryMs = 200;

/** Takes the lock of a file, or returns undefined when this or another process holds it. The kernel releases it when the process ends. */
export async function tryLock(path: string): Promise<Disposable | undefined> {
  await mkdir(dirname(path), { recursive: true });
  return tryFileLock(path, 'exclusive');
}

export interface LockWait {
  /** Throws after this time. */
  readonly deadlineMs: number;
  /** Called once if the lock is held by someone else. */
  readonly onBusy?: () => void;
  readonly signal?: AbortSignal | undefined;
}

/** Takes the lock of a file, waiting until it is free. */
export async function waitForLock(path: string, wait: LockWait): Promise<Disposable> {
  const giveUpAtMs = performance.now() + wait.deadlineMs;
  let announced = false;
  for (;;) {
    const lock = await tryLock(path);
    if (lock) return lock;
    if (!announced) wait.onBusy?.();
    announced = true;
    if (performance.now() > giveUpAtMs) {
      throw new SetupError(
        `Another set-up has held ${path} for ${Math.round(wait.deadlineMs / 60_000)} minutes. End that process, then try again.`,
      );
    }
    await delay(retryMs, undefined, wait.signal ? { signal: wait.signal } : {});
  }
}
