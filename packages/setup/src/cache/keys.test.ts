import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { digestFolder, hashValues } from './keys.ts';

test('the hash does not depend on the order of the values but on each of them', () => {
  expect(hashValues({ a: '1', b: '2' })).toBe(hashValues({ b: '2', a: '1' }));
  expect(hashValues({ a: '1', b: '2' })).not.toBe(hashValues({ a: '12', b: '' }));
  expect(hashValues({ a: '1' })).toMatch(/^[0-9a-f]{16}$/);
});

test('a folder digest sees content, names and the executable bit, and only included files', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'mayfly-digest-'));
  await mkdir(join(folder, 'sub'));
  await writeFile(join(folder, 'sub/a.go'), 'one');
  const digest = () => digestFolder(folder, (path) => path.endsWith('.go'));
  const first = await digest();
  await writeFile(join(folder, 'notes.md'), 'ignored');
  expect(await digest()).toBe(first);
  await chmod(join(folder, 'sub/a.go'), 0o755);
  const executable = await digest();
  expect(executable).not.toBe(first);
  await writeFile(join(folder, 'sub/a.go'), 'two');
  expect(await digest()).not.toBe(executable);
  await rm(folder, { recursive: true });
});
