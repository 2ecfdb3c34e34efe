import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { tarOf } from '../../archive/tar.ts';
import type { CopyStep } from '../recipe/recipe.ts';
import { RecipeFolder } from './file-tree.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'mayfly-files-'));
  mkdirSync(join(folder, 'recipe'));
});
afterEach(() => rmSync(folder, { recursive: true }));

function write(name: string, content: string): string {
  const path = join(folder, 'recipe', name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
  return path;
}

async function collect(fields: Partial<CopyStep>) {
  const recipe = await RecipeFolder.open(join(folder, 'recipe'), { ignoreFile: fields.wildcards ?? false });
  const step: CopyStep = {
    kind: 'copy',
    line: 1,
    label: '',
    sources: ['.'],
    wildcards: false,
    destination: '/workspace/app',
    intoFolder: false,
    mode: undefined,
    ...fields,
  };
  return await recipe.collect(step);
}

const names = async (fields: Partial<CopyStep>) => (await collect(fields)).entries.map(({ name }) => name);

test('an archive unpacks to the same files, modes and links', async () => {
  const long = `${'a-long-folder/'.repeat(15)}file-ü`;
  write('empty', '');
  write('block', 'x'.repeat(512));
  write('large', 'y'.repeat(700_001));
  chmodSync(write('run.sh', '#!/bin/sh\n'), 0o750);
  write(long, 'deep');
  symlinkSync(long, join(folder, 'recipe/deep-link'));
  symlinkSync('.', join(folder, 'recipe/self'));
  const { entries, bytes } = await collect({});
  expect(bytes).toBe(512 + 700_001 + 10 + 4);
  const out = join(folder, 'out');
  mkdirSync(out);
  execFileSync('tar', ['-x', '-p', '-C', out], { input: await buffer(tarOf(entries)) });
  expect(readdirSync(out).sort()).toEqual(readdirSync(join(folder, 'recipe')).sort());
  for (const name of ['empty', 'block', 'large', 'run.sh', long]) {
    expect(readFileSync(join(out, name), 'utf8')).toBe(readFileSync(join(folder, 'recipe', name), 'utf8'));
    expect(lstatSync(join(out, name)).mode).toBe(lstatSync(join(folder, 'recipe', name)).mode);
  }
  expect(readlinkSync(join(out, 'deep-link'))).toBe(long);
  expect(readlinkSync(join(out, 'self'))).toBe('.');
});

test('a file gets the name of the destination, or keeps its own in a folder', async () => {
  write('a.txt', 'a');
  expect(await collect({ sources: ['a.txt'] })).toMatchObject({ folder: '/workspace', entries: [{ name: 'app' }] });
  const inFolder = await collect({ sources: ['a.txt'], intoFolder: true, mode: 0o600 });
  expect(inFolder).toMatchObject({ folder: '/workspace/app', entries: [{ name: 'a.txt', mode: 0o600 }] });
});

test('wildcards and .dockerignore select files', async () => {
  for (const name of [
    'package.json',
    'package-lock.json',
    '.env',
    'src/a.js',
    'src/a.md',
    'src/keep.md',
    'node_modules/x/y',
  ]) {
    write(name, name);
  }
  write('.dockerignore', '# comment\nnode_modules\n.env\n**/*.md\n!src/keep.md\n.dockerignore\n');
  expect(await names({ wildcards: true })).toEqual([
    'package-lock.json',
    'package.json',
    'src',
    'src/a.js',
    'src/keep.md',
  ]);
  expect(await names({ wildcards: true, sources: ['package*.json'], intoFolder: true })).toEqual([
    'package-lock.json',
    'package.json',
  ]);
  await expect(names({ wildcards: true, sources: ['*.go'], intoFolder: true })).rejects.toThrow('*.go matches no file');
  await expect(names({ wildcards: true, sources: ['.env'] })).rejects.toThrow('.env is excluded by .dockerignore');
  await expect(names({ wildcards: true, sources: ['package*.json'] })).rejects.toThrow('matches several files');
});

test('a link within the folder can be the source', async () => {
  write('real/a.txt', 'a');
  symlinkSync('real', join(folder, 'recipe/current'));
  expect(await names({ sources: ['current'] })).toEqual(['a.txt']);
});

test('links cannot fetch files from outside through a wildcard or a folder', async () => {
  writeFileSync(join(folder, 'secret'), 'secret');
  symlinkSync('..', join(folder, 'recipe/up'));
  const refused = 'leads out of the folder of the recipe';
  await expect(names({ sources: ['up/secret'] })).rejects.toThrow(refused);
  await expect(names({ wildcards: true, sources: ['*/sec*'], intoFolder: true })).rejects.toThrow(refused);
  await expect(names({ sources: ['.'] })).rejects.toThrow('up is a link to .., which is outside');
});

test('what is neither file, folder nor link is refused', async () => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(join(folder, 'recipe/socket'), resolve));
  await expect(names({})).rejects.toThrow('socket is neither a file nor a folder nor a link');
  await new Promise((resolve) => server.close(resolve));
});

test('a file that changes after it was hashed is noticed', async () => {
  const path = write('a.txt', 'a');
  const { entries } = await collect({});
  writeFileSync(path, 'longer');
  await expect(buffer(tarOf(entries))).rejects.toThrow('changed while it was read');
});
