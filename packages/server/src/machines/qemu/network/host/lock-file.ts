import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

/** Gives a lock back. */
export type Unlock = () => Promise<void>;

/** Says when the lock is held, and then holds it until its input ends, which the service's death brings about too. */
const holder = 'echo held; exec cat >/dev/null';

/** Has a small process take a lock; undefined when it ended without. */
const flock = async (path: string, options: readonly string[]): Promise<Unlock | undefined> => {
  const argv = [...options, path, 'sh', '-c', holder];
  const child = spawn('flock', argv, { stdio: ['pipe', 'pipe', 'ignore'], detached: true });
  const exited = new Promise<undefined>((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', () => resolve(undefined));
  });
  exited.catch(() => {});
  const held = once(createInterface(child.stdout), 'line').then(() => true);
  held.catch(() => {});
  if (!(await Promise.race([held, exited]))) return undefined;
  return async () => {
    child.stdin.end();
    await exited;
  };
};

/** Takes a lock on a file, waiting for it. Any number of `shared` locks go together. */
export const takeLock = async (path: string, mode: 'shared' | 'exclusive'): Promise<Unlock> => {
  const unlock = await flock(path, [`--${mode}`]);
  if (!unlock) throw new Error(`could not lock ${path}`);
  return unlock;
};

/** Takes a file's exclusive lock; undefined when somebody holds one. */
export const tryLock = (path: string): Promise<Unlock | undefined> => flock(path, ['--exclusive', '--nonblock']);

/** Does some work while holding a file's exclusive lock. */
export const withLock = async <T>(path: string, work: () => Promise<T>): Promise<T> => {
  const unlock = await takeLock(path, 'exclusive');
  try {
    return await work();
  } finally {
    await unlock();
  }
};
