import { spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { writeRunDisk } from './run-disk.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mayfly-run-disk-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** What debugfs prints for a request about the disk. */
function inspect(request: string): string {
  return spawnSync('debugfs', ['-R', request, join(folder, 'disk')], { encoding: 'utf8' }).stdout;
}

it('has the checkout without its history, the cache entries and the command, and leaves nothing mounted', async () => {
  const checkout = join(folder, 'checkout');
  for (const path of ['.git', 'packages', 'node_modules']) await mkdir(join(checkout, path), { recursive: true });
  await writeFile(join(checkout, 'packages', 'one.ts'), 'source');
  await writeFile(join(checkout, '.git', 'objects'), 'history');
  const entry = { kind: 'kernel', key: '0123456789abcdef' };
  await mkdir(join(folder, 'cache', entry.kind, entry.key), { recursive: true });
  await writeFile(join(folder, 'cache', entry.kind, entry.key, 'vmlinuz'), 'image');
  const contents = {
    projectRoot: checkout,
    cacheDir: join(folder, 'cache'),
    entries: [entry],
    command: 'echo hello\n',
  };
  const { signal } = new AbortController();
  await writeRunDisk(join(folder, 'disk'), join(folder, 'staging'), contents, signal);

  expect(inspect('cat /checkout/packages/one.ts')).toBe('source');
  expect(inspect('cat /cache/kernel/0123456789abcdef/vmlinuz')).toBe('image');
  expect(inspect('cat /command')).toBe('echo hello\n');
  expect(inspect('ls /checkout/.git')).not.toContain('objects');
  expect(await readFile('/proc/self/mountinfo', 'utf8')).not.toContain(folder);
  expect(await readFile(join(checkout, '.git', 'objects'), 'utf8')).toBe('history');
});
