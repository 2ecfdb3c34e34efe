import { chmodSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { RpcChild } from '../../test/network/rpc.ts';
import { holderIn, lockHolder, takeLock, tryLock, withLock } from './lock-file.ts';

let folder: string;
let path: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'mayfly-lock-'));
  path = join(folder, 'lock');
});

afterEach(() => rmSync(folder, { recursive: true }));

test.each([
  ['shared', 'shared', true],
  ['shared', 'exclusive', false],
  ['exclusive', 'shared', false],
  ['exclusive', 'exclusive', false],
] as const)('while a %s lock is held, a %s lock is available: %s', (held, wanted, isAvailable) => {
  using _held = tryLock(path, held);
  using lock = tryLock(path, wanted);
  expect(lock !== undefined).toBe(isAvailable);
});

test('nobody else can open the file, and a held lock survives other attempts of the same process', async () => {
  using _held = tryLock(path, 'exclusive');
  expect(statSync(path).mode & 0o777).toBe(0o600);
  chmodSync(path, 0o644);
  expect(tryLock(path, 'exclusive')).toBeUndefined();
  expect(statSync(path).mode & 0o777).toBe(0o600);
  const other = new RpcChild([process.execPath, join(import.meta.dirname, '../../test/network/lock-worker.ts')]);
  expect(await other.ask('lock', { path, mode: 'shared' })).toBe(false);
  await other.kill();
});

test('the holder of an exclusive lock is known by its process id', async () => {
  expect(lockHolder(path)).toBeUndefined();
  const other = new RpcChild([process.execPath, join(import.meta.dirname, '../../test/network/lock-worker.ts')]);
  await other.ask('lock', { path, mode: 'exclusive' });
  expect(lockHolder(path)).toBe(await other.ask('pid', {}));
  await other.kill();
  expect(lockHolder(path)).toBeUndefined();
});

test('locks of other files and readers are not the holder', () => {
  const locks = [
    '1: POSIX  ADVISORY  READ 11 103:12:77 0 EOF',
    '2: FLOCK  ADVISORY  WRITE 12 103:12:78 0 EOF',
    '2: -> POSIX  ADVISORY  WRITE 0 103:12:77 0 EOF',
    '3: POSIX  ADVISORY  WRITE 13 103:12:77 1073741826 1073742335',
  ].join('\n');
  // Major 0x103, minor 0x12.
  expect(holderIn(locks, 0x10312n, 77n)).toBe(13);
  expect(holderIn(locks, 0x10312n, 76n)).toBeUndefined();
});

test('a released lock can be taken again', () => {
  for (const mode of ['exclusive', 'shared', 'exclusive'] as const) {
    using lock = tryLock(path, mode);
    expect(lock).toBeDefined();
  }
});

test('work under a lock runs one at a time', async () => {
  const running: number[] = [];
  const work = async (): Promise<void> => {
    running.push(running.length);
    expect(running).toEqual([0]);
    await new Promise((resolve) => setImmediate(resolve));
    running.pop();
  };
  await Promise.all([withLock(path, work), withLock(path, work), withLock(path, work)]);
  expect(running).toEqual([]);
});

test('a lock holds between processes and is released when its process is killed', async () => {
  const worker = join(import.meta.dirname, '../../test/network/lock-worker.ts');
  const other = new RpcChild([process.execPath, worker]);
  expect(await other.ask('lock', { path, mode: 'shared' })).toBe(true);
  expect(tryLock(path, 'exclusive')).toBeUndefined();
  using _shared = tryLock(path, 'shared');
  expect(_shared).toBeDefined();
  expect(await other.ask('lock', { path, mode: 'exclusive' })).toBe(false);
  _shared?.[Symbol.dispose]();
  const waiting = takeLock(path, 'exclusive');
  await other.kill();
  using lock = await waiting;
  expect(lock).toBeDefined();
});
