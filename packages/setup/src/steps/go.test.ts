import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type GoModule, goModules, programEntry } from './go.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mayfly-go-'));
});
afterEach(async () => {
  await rm(folder, { recursive: true });
});

async function writeModule(name: string): Promise<GoModule> {
  await mkdir(join(folder, name));
  await writeFile(join(folder, name, 'go.mod'), `module ${name}\n`);
  await writeFile(join(folder, name, 'main.go'), 'package main\n');
  return { title: name, folder: join(folder, name) };
}

it('a program is built again when its sources or those of a module that it uses change, and not when tests do', async () => {
  const program = { ...(await writeModule('program')), name: 'program', uses: [await writeModule('library')] };
  const key = async () => (await programEntry(program, 'arm64', { identity: 'go', hostCommand: 'go' })).key;
  const first = await key();
  await writeFile(join(folder, 'library/main_test.go'), 'package main\n');
  expect(await key()).toBe(first);
  await writeFile(join(folder, 'library/main.go'), 'package main // changed\n');
  const second = await key();
  expect(second).not.toBe(first);
  await writeFile(join(folder, 'program/main.go'), 'package main // changed\n');
  expect(await key()).not.toBe(second);
});

it.each(goModules.map((module) => [module.title, module] as const))(
  '%s names the modules that its go.mod takes from the project',
  async (_, module) => {
    const replaced = (await readFile(join(module.folder, 'go.mod'), 'utf8')).matchAll(/=> (\.\S+)/g);
    expect((module.uses ?? []).map((used) => used.folder)).toEqual(
      [...replaced].map(([, path = '']) => join(module.folder, path)),
    );
  },
);
