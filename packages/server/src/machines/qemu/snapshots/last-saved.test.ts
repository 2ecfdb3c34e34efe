import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { cleanUpLastSaved, forgetLastSaved, replaceLastSaved } from './last-saved.ts';
import { linkRestoreFiles, type RestoreFiles, readRestoreFiles, restoreFilesIn } from './restore-files.ts';

let folder = '';
let saved = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mayfly-last-saved-'));
  saved = join(folder, 'saved');
});
afterEach(async () => {
  await rm(folder, { recursive: true });
});

/** A snapshot whose files contain its name. */
async function snapshot(name: string): Promise<RestoreFiles> {
  const files = restoreFilesIn(join(folder, name), { ramLayers: 2, diskLayers: 3 });
  await mkdir(join(folder, name));
  const paths = [...files.ramPaths, ...files.diskPaths, files.statePath, files.planPath ?? '', files.emptyLayerPath];
  for (const path of paths) await writeFile(path, name);
  return files;
}

test('the last memory is replaced whatever an interrupted replacement left, and can be forgotten', async () => {
  await replaceLastSaved(await snapshot('first'), saved);
  for (const name of ['saved.new', 'saved.old']) {
    await mkdir(join(folder, name));
    await writeFile(join(folder, name, 'ram.0'), 'left');
  }
  await replaceLastSaved(await snapshot('second'), saved);
  const found = await readRestoreFiles(saved);
  expect(found).toEqual(restoreFilesIn(saved, { ramLayers: 2, diskLayers: 0 }));
  expect(await readFile(found?.statePath ?? '', 'utf8')).toBe('second');
  expect((await readdir(folder)).sort()).toEqual(['first', 'saved', 'second']);
  await forgetLastSaved(saved);
  await forgetLastSaved(saved);
  expect(await readRestoreFiles(saved)).toBeUndefined();
});

test('what an interrupted replacement left is removed, and complete links stay', async () => {
  await replaceLastSaved(await snapshot('first'), saved);
  await mkdir(join(folder, 'saved.new'));
  await mkdir(join(folder, 'saved.old'));
  await cleanUpLastSaved(saved);
  expect((await readdir(folder)).sort()).toEqual(['first', 'saved']);
});

test('when a file cannot be linked, no link is made after the failure, so that the folder can be removed', async () => {
  const files = await snapshot('first');
  await rm(files.ramPaths[0] ?? '');
  const target = join(folder, 'target');
  await expect(linkRestoreFiles(files, target)).rejects.toThrow('ENOENT');
  expect(await readdir(target)).toHaveLength(7);
});
