import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { access, constants, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { hasGo, jailProgram } from '../../../../test/network/go-tools.ts';
import { type CgroupLayout, detectCgroups } from './cgroup-layout.ts';
import { Cgroups } from './cgroups.ts';
import { ProcessKiller } from './process-killer.ts';

const instance = `test-${process.pid}`;
const options = { killer: { killGroup: () => Promise.reject(new Error('nothing is killed here')) } };
const limits = { cpuCores: 1.5, memoryBytes: 64 * 1024 * 1024, pids: 16 };

/** The layouts of this host: its own, and a version 2 hierarchy without controllers beside version 1. */
async function realLayouts(): Promise<CgroupLayout[]> {
  const layout = await detectCgroups().catch(() => undefined);
  const root = layout?.hierarchies[0]?.root;
  const isWritable =
    root !== undefined &&
    (await access(root, constants.W_OK).then(
      () => true,
      () => false,
    ));
  if (!layout || !isWritable || process.getuid?.() !== 0 || !hasGo()) return [];
  const unified = '/sys/fs/cgroup/unified';
  const bare: CgroupLayout = { version: 2, hierarchies: [{ root: unified, controllers: [] }], missing: [] };
  return existsSync(join(unified, 'cgroup.procs')) ? [layout, bare] : [layout];
}

describe.each(await realLayouts())('on this host, version $version', (layout) => {
  const cgroups = new Cgroups(layout, instance, { killer: new ProcessKiller(jailProgram()) });
  let child: ChildProcess | undefined;
  afterEach(async () => {
    child?.kill('SIGKILL');
    for (const id of await cgroups.list()) await cgroups.remove(id);
    await cgroups.removeEmptyParents();
  });

  it('limits a process in a group, kills it and leaves nothing behind', async () => {
    const procsFiles = await cgroups.create('one', limits);
    expect(procsFiles).toHaveLength(layout.hierarchies.length);
    child = spawn('sh', ['-c', 'read go; sleep 1000 & echo started; sleep 1000'], {
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    for (const file of procsFiles) await writeFile(file, String(child.pid));
    const closed = once(child, 'close');
    child.stdin?.end('go\n');
    if (child.stdout) await once(child.stdout, 'data');
    expect(await cgroups.list()).toEqual(['one']);
    await cgroups.remove('one');
    expect(await closed).toEqual([null, 'SIGKILL']);
    expect(await cgroups.list()).toEqual([]);
    await cgroups.remove('one');
    await cgroups.removeEmptyParents();
    for (const { root } of layout.hierarchies) expect(existsSync(join(root, 'mayfly', instance))).toBe(false);
  });

  it.each(['tasks', 'notify_on_release'])('has nothing to remove of %s, which is a file in version 1', async (id) => {
    await cgroups.create(id, limits).catch(() => {});
    await cgroups.remove(id);
    expect(await cgroups.list()).toEqual([]);
  });

  it('refuses to create a group that exists, and keeps it', async () => {
    await cgroups.create('one', limits);
    await expect(cgroups.create('one', limits)).rejects.toMatchObject({ code: 'EEXIST' });
    expect(await cgroups.list()).toEqual(['one']);
  });

  it.runIf(layout.missing.length === 0 && layout.version === 1)('sets the limits', async () => {
    const files = await cgroups.create('one', limits);
    const read = async (controller: string, name: string) => {
      const file = files.find((path) => path.includes(`/${controller}`)) ?? '';
      return Number(await readFile(join(file, '..', name), 'utf8'));
    };
    expect(await read('cpu', 'cpu.cfs_quota_us')).toBe(150_000);
    expect(await read('memory', 'memory.limit_in_bytes')).toBe(limits.memoryBytes);
    expect(await read('pids', 'pids.max')).toBe(16);
    expect(await cgroups.memoryBytesOf('one')).toBe(0);
    expect(await cgroups.memoryBytesOf('none')).toBe(0);
  });

  it.runIf(layout.hierarchies.some((tree) => tree.controllers.includes('memory')))(
    'counts processes that were killed for exceeding the memory limit',
    async () => {
      const files = await cgroups.create('one', { ...limits, memoryBytes: 16 * 1024 * 1024 });
      expect(await cgroups.outOfMemoryKills('one')).toBe(0);
      child = spawn('sh', ['-c', 'read go; exec dd if=/dev/zero of=/dev/null bs=200M'], {
        stdio: ['pipe', 'ignore', 'ignore'],
      });
      for (const file of files) await writeFile(file, String(child.pid));
      const exited = once(child, 'exit');
      child.stdin?.end('go\n');
      expect(await exited).toEqual([null, 'SIGKILL']);
      expect(await cgroups.outOfMemoryKills('one')).toBe(1);
    },
  );
});

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
