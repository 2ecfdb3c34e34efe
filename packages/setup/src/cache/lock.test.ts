import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { tryLock, waitForLock } from './lock.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mayfly-lock-'));
});
afterAll(() => rm(folder, { recursive: true }));

test('a held lock is refused to others in the same process until it is released', async () => {
  const path = join(folder, 'own.lock');
  const first = await tryLock(path);
  expect(await tryLock(path)).toBeUndefined();
  first?.[Symbol.dispose]();
  first?.[Symbol.dispose]();
  using second = await tryLock(path);
  expect(second).toBeDefined();
});

test('the lock of a killed process is released', async () => {
  const path = join(folder, 'other.lock');
  const script = `
    import { tryLock } from ${JSON.stringify(join(import.meta.dirname, 'lock.ts'))};
    globalThis.kept = await tryLock(${JSON.stringify(path)});
    console.log('held');
    setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(child.stdout, 'data');
  let busy = 0;
  const waiting = waitForLock(path, { deadlineMs: 20_000, onBusy: () => child.kill(busy++ ? 0 : 'SIGKILL') });
  using lock = await waiting;
  expect(lock).toBeDefined();
  expect(busy).toBe(1);
});

test('waiting fails at the deadline, and the message says what to do', async () => {
  const path = join(folder, 'deadline.lock');
  using _held = await tryLock(path);
  await expect(waitForLock(path, { deadlineMs: 0 })).rejects.toThrow('Another set-up has held');
});
