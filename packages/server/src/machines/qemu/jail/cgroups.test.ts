import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { CgroupLayout } from './cgroup-layout.ts';
import { Cgroups } from './cgroups.ts';

const options = { killer: { killGroup: () => Promise.reject(new Error('nothing is killed here')) } };
const limits = { cpuCores: 1.5, memoryBytes: 64 * 1024 * 1024, pids: 16 };

it('limits the memory of all machines together, also of those that are running already', async () => {
  for (const version of [1, 2] as const) {
    const root = await mkdtemp(join(tmpdir(), 'mayfly-cgroup-'));
    try {
      const layout: CgroupLayout = { version, hierarchies: [{ root, controllers: ['memory'] }], missing: [] };
      const cgroups = new Cgroups(layout, 'main', { ...options, memoryBytes: 1_000 });
      expect(await cgroups.limitAll()).toBe(true);
      const parent = join(root, 'mayfly/main');
      const file = version === 1 ? 'memory.limit_in_bytes' : 'memory.max';
      expect(await readFile(join(parent, file), 'utf8')).toBe('1000');
      expect(cgroups.memoryLeftBytes()).toBe(1_000);
      await writeFile(join(parent, 'memory.stat'), 'cache 7\nanon 1200\ntotal_rss 1200\n');
      expect(cgroups.memoryLeftBytes()).toBe(-200);
      // The kernel would kill machines at once.
      expect(await cgroups.limitAll()).toBe(false);
      const next = new Cgroups(layout, 'main', { ...options, memoryBytes: 500 });
      expect(await next.limitAll()).toBe(false);
      await next.create('one', limits);
      expect(await readFile(join(parent, file), 'utf8')).toBe('1000');
    } finally {
      await rm(root, { recursive: true });
    }
  }
});

it('delegates the controllers of version 2 in its own folders only', async () => {
  const root = await mkdtemp(join(tmpdir(), 'mayfly-cgroup-'));
  try {
    const layout: CgroupLayout = {
      version: 2,
      hierarchies: [{ root, controllers: ['cpu', 'pids'] }],
      missing: ['memory'],
    };
    expect(await new Cgroups(layout, 'main', options).create('one', limits)).toEqual([
      join(root, 'mayfly/main/one/cgroup.procs'),
    ]);
    expect(await readdir(root)).toEqual(['mayfly']);
    for (const folder of ['mayfly', 'mayfly/main']) {
      expect(await readFile(join(root, folder, 'cgroup.subtree_control'), 'utf8')).toBe('+cpu +pids');
    }
    expect(await readFile(join(root, 'mayfly/main/one/cpu.max'), 'utf8')).toBe('150000 100000');
    expect(await readFile(join(root, 'mayfly/main/one/pids.max'), 'utf8')).toBe('16');
  } finally {
    await rm(root, { recursive: true });
  }
});

it('rejects names that lead out of its folder', async () => {
  const layout: CgroupLayout = { version: 2, hierarchies: [], missing: [] };
  expect(() => new Cgroups(layout, '..', options)).toThrow('not a cgroup name');
  await expect(new Cgroups(layout, 'main', options).create('a/b', limits)).rejects.toThrow('not a cgroup name');
  await expect(new Cgroups(layout, 'main', options).remove('..')).rejects.toThrow('not a cgroup name');
});
