import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { dashboardEntry, placeFolder } from './dashboard.ts';

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mayfly-dashboard-'));
});

afterEach(() => rm(folder, { recursive: true }));

async function makeEntry(name: string): Promise<string> {
  const entry = join(folder, name);
  await mkdir(join(entry, 'assets'), { recursive: true });
  await writeFile(join(entry, 'assets', `${name}.js`), name);
  await writeFile(join(entry, 'manifest.json'), name);
  return entry;
}

test('a new build replaces the old one completely', async () => {
  const target = join(folder, 'dist');
  await placeFolder(await makeEntry('old'), target);
  await placeFolder(await makeEntry('new'), target);
  expect(await readdir(join(target, 'assets'))).toEqual(['new.js']);
  expect((await stat(target)).mode & 0o777).toBe(0o755);
  expect((await readdir(folder)).sort()).toEqual(['dist', 'new', 'old']);
});

test('the same build is not copied again', async () => {
  const target = join(folder, 'dist');
  const entry = await makeEntry('one');
  await placeFolder(entry, target);
  await writeFile(join(target, 'assets', 'one.js'), 'marked');
  await placeFolder(entry, target);
  expect(await readFile(join(target, 'assets', 'one.js'), 'utf8')).toBe('marked');
});

test('a folder that somebody built by hand is replaced', async () => {
  const target = join(folder, 'dist');
  await mkdir(target);
  await writeFile(join(target, 'index.html'), 'by hand');
  await placeFolder(await makeEntry('one'), target);
  expect(await readdir(target)).not.toContain('index.html');
});

test('the entry is the same as long as nothing changes', async () => {
  expect(await dashboardEntry()).toEqual(await dashboardEntry());
});
