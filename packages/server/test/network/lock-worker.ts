import { tryLock } from '../../src/system/lock-file.ts';
import { serveRpc } from './rpc.ts';

/** A process that takes locks and keeps them until it exits. */
const held: (Disposable | undefined)[] = [];

serveRpc({
  pid: () => process.pid,
  lock: ({ path, mode }: { path: string; mode: 'shared' | 'exclusive' }) => {
    const lock = tryLock(path, mode);
    held.push(lock);
    return lock !== undefined;
  },
});
