import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type SizeName, sizeNames } from '@mayfly/contract';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { pinoLog } from '../../../../test/machines/pino-log.ts';
import { type Template, templateFiles } from '../template/template.ts';
import { Bases } from './bases.ts';

let folder = '';
const { log } = pinoLog();
const { signal } = new AbortController();
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mayfly-bases-'));
});
afterEach(async () => {
  await rm(folder, { recursive: true });
});

/** A template whose files contain a text. */
async function makeTemplate(size: SizeName, key: string, cacheDir: string, createdAtMs: number): Promise<Template> {
  const files = templateFiles(join(cacheDir, `template-${size}`, key));
  await mkdir(files.folder, { recursive: true });
  const basePath = join(cacheDir, `disk-${size}.raw`);
  for (const path of [files.ramPath, files.statePath, files.diskPath, files.emptyLayerPath, basePath]) {
    await writeFile(path, `${key} ${size}`);
  }
  const manifest = { size, arch: 'arm64', acceleration: 'tcg', machineType: 'virt-10.0', qemuVersion: '10.0' } as const;
  const times = { createdAtMs, bootMs: 1, savedAtUptimeMs: 1 };
  return { ...files, manifest: { ...manifest, ...times, kernelVersion: '6', basePath } };
}

async function openBases(
  key: string,
  cacheDir = join(folder, 'cache'),
  createdAtMs = 1,
  made: readonly SizeName[] = sizeNames,
): Promise<Bases> {
  const ramPath = join(folder, 'ram-tool');
  await writeFile(ramPath, '#!/bin/sh\necho plan >&4\n', { mode: 0o755 });
  const templates: Partial<Record<SizeName, Template>> = {};
  for (const size of made) templates[size] = await makeTemplate(size, key, cacheDir, createdAtMs);
  return await Bases.open({ folder: join(folder, 'bases'), templates, ramPath, log });
}

test('machines keep the files of their template when the cache is emptied', async () => {
  const bases = await openBases('abc');
  const { key, files } = bases.ofSize('small');
  expect(key).toBe('small-abc-1');
  const [ramPath = ''] = files.ramPaths;
  expect((await stat(ramPath)).ino).toBe((await stat(join(folder, 'cache/template-small/abc/ram'))).ino);
  await rm(join(folder, 'cache'), { recursive: true });
  expect(await bases.inDataFolder(key, signal)).toEqual(files);
  for (const path of [ramPath, files.statePath, files.emptyLayerPath, ...files.diskPaths]) {
    expect(await readFile(path, 'utf8')).toBe('abc small');
  }
  expect(await readFile(files.planPath ?? '', 'utf8')).toBe('plan\n');
  expect(await bases.missingBytes(key)).toBe(0);
});

test('bases of old templates are removed, except for the bases of running machines', async () => {
  await openBases('old');
  await mkdir(join(folder, 'bases', 'small-half.partial'));
  const bases = await openBases('new');
  await bases.removeUnused(new Set(['medium-old-1']));
  const left = ['large-new-1', 'medium-new-1', 'medium-old-1', 'small-new-1'];
  expect((await readdir(join(folder, 'bases'))).sort()).toEqual(left);
});

test('a size without a template is an error only for those who ask for it', async () => {
  const bases = await openBases('abc', join(folder, 'cache'), 1, ['small']);
  expect(bases.ofSize('small').key).toBe('small-abc-1');
  expect(() => bases.ofSize('large')).toThrow('There is no template for the size large.');
});

test('a template that is neither in the data folder nor in the cache is an error that says so', async () => {
  const bases = await openBases('abc');
  await expect(bases.inDataFolder('small-other', signal)).rejects.toThrow('is not in the cache any more');
});

test('a machine is never saved on top of another build of its template', async ({ skip }) => {
  const otherDir = await mkdtemp('/dev/shm/mayfly-bases-').catch(() => folder);
  try {
    if ((await stat(otherDir)).dev === (await stat(folder)).dev) skip();
    const { key } = (await openBases('abc', otherDir, 1)).ofSize('small');
    const rebuilt = await openBases('abc', otherDir, 2);
    await expect(rebuilt.inDataFolder(key, signal)).rejects.toThrow('is not in the cache any more');
    expect(await rebuilt.inDataFolder(rebuilt.ofSize('small').key, signal)).toBeDefined();
  } finally {
    if (otherDir !== folder) await rm(otherDir, { recursive: true, force: true });
  }
});

test('with a cache on another file system, templates stay there until the first save, and snapshots do not need it after that', async ({
  skip,
}) => {
  const otherDir = await mkdtemp('/dev/shm/mayfly-bases-').catch(() => folder);
  try {
    if ((await stat(otherDir)).dev === (await stat(folder)).dev) skip();
    const bases = await openBases('abc', otherDir);
    const { key, files } = bases.ofSize('small');
    expect(files.ramPaths).toEqual([join(otherDir, 'template-small/abc/ram')]);
    expect(files.planPath).toBeUndefined();
    expect(await readdir(join(folder, 'bases'))).toEqual([]);
    expect(await bases.missingBytes(key)).toBeGreaterThan(0);
    await expect(bases.inDataFolder(key, AbortSignal.abort(new Error('cancelled')))).rejects.toThrow('cancelled');
    expect(await readdir(join(folder, 'bases'))).toEqual([]);
    const [first, second] = await Promise.all([bases.inDataFolder(key, signal), bases.inDataFolder(key, signal)]);
    expect(second).toEqual(first);
    await rm(otherDir, { recursive: true });
    const copied = await bases.inDataFolder(key, signal);
    expect(await readFile(copied.ramPaths[0] ?? '', 'utf8')).toBe('abc small');
    expect(await bases.missingBytes(key)).toBe(0);
    await expect(bases.inDataFolder(bases.ofSize('large').key, signal)).rejects.toThrow();
  } finally {
    if (otherDir !== folder) await rm(otherDir, { recursive: true, force: true });
  }
});
