import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { checkCgroupSupport } from './check-support.ts';

let root = '';
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'mayfly-cgroup-'));
});
afterEach(() => rm(root, { recursive: true }));

it('a host without cgroups is told so, with the remedy', async () => {
  expect(await checkCgroupSupport(root)).toEqual([
    { what: `there are no cgroups under ${root}`, remedy: expect.stringContaining(`mount -t cgroup2 cgroup2 ${root}`) },
  ]);
});

it('version 2 and version 1 are found good, and nothing is left of the trial', async () => {
  await writeFile(join(root, 'cgroup.controllers'), 'cpu memory pids\n');
  await writeFile(join(root, 'cgroup.subtree_control'), 'cpu memory pids\n');
  expect(await checkCgroupSupport(root)).toEqual([]);
  expect((await readdir(root)).toSorted()).toEqual(['cgroup.controllers', 'cgroup.subtree_control']);
});

it('a tree in which no group can be made is named', async () => {
  await mkdir(join(root, 'memory'));
  await writeFile(join(root, 'memory', 'cgroup.procs'), '');
  // What stands in the place of the trial is refused as a read-only tree would be.
  await mkdir(join(root, 'memory', `mayfly-check-${process.pid}`));
  const [problem] = await checkCgroupSupport(root);
  expect(problem?.what).toBe(`no cgroup can be made under ${join(root, 'memory')} (EEXIST)`);
  expect(problem?.remedy).toContain('remount,rw');
});

it.runIf(process.getuid?.() === 0)('a host that runs these tests has all it takes', async () => {
  expect(await checkCgroupSupport()).toEqual([]);
});
