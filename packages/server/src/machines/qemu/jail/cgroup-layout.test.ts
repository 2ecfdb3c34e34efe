import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { detectCgroups } from './cgroup-layout.ts';

let root = '';
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'mayfly-cgroup-'));
});
afterEach(() => rm(root, { recursive: true }));

async function file(path: string, text = ''): Promise<void> {
  await mkdir(join(root, path, '..'), { recursive: true });
  await writeFile(join(root, path), text);
}

it('uses the controllers that the root of version 2 delegates', async () => {
  await file('cgroup.controllers', 'cpuset cpu io memory hugetlb pids\n');
  await file('cgroup.subtree_control', 'cpuset cpu io memory pids\n');
  expect(await detectCgroups(root)).toEqual({
    version: 2,
    hierarchies: [{ root, controllers: ['cpu', 'memory', 'pids'] }],
    missing: [],
  });
});

it('lists the controllers that the root of version 2 does not delegate', async () => {
  await file('cgroup.controllers', 'cpu memory pids\n');
  await file('cgroup.subtree_control', 'memory pids\n');
  expect(await detectCgroups(root)).toMatchObject({ version: 2, missing: ['cpu'] });
});

it('uses the hierarchies of version 1 beside a version 2 without controllers', async () => {
  for (const tree of ['cpu,cpuacct', 'memory', 'pids', 'unified']) await file(`${tree}/cgroup.procs`);
  await symlink('cpu,cpuacct', join(root, 'cpu'));
  await file('unified/cgroup.controllers', '\n');
  expect(await detectCgroups(root)).toEqual({
    version: 1,
    hierarchies: [
      { root: join(root, 'cpu,cpuacct'), controllers: ['cpu'] },
      { root: join(root, 'memory'), controllers: ['memory'] },
      { root: join(root, 'pids'), controllers: ['pids'] },
    ],
    missing: [],
  });
});

it('lists a hierarchy that several controllers share once', async () => {
  await file('cpu,memory/cgroup.procs');
  for (const name of ['cpu', 'memory']) await symlink('cpu,memory', join(root, name));
  const { hierarchies, missing } = await detectCgroups(root);
  expect(hierarchies).toEqual([{ root: join(root, 'cpu,memory'), controllers: ['cpu', 'memory'] }]);
  expect(missing).toEqual(['pids']);
});

it('fails on a host without cgroups', async () => {
  await expect(detectCgroups(root)).rejects.toThrow('no cgroups under');
});
