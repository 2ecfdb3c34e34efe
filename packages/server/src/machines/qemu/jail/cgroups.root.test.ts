import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { jailProgram } from '../../../../test/network/go-tools.ts';
import { type CgroupLayout, detectCgroups } from './cgroup-layout.ts';
import { Cgroups } from './cgroups.ts';
import { ProcessKiller } from './process-killer.ts';

const instance = `test-${process.pid}`;
const limits = { cpuCores: 1.5, memoryBytes: 64 * 1024 * 1024, pids: 16 };

/** The layouts of this host: its own, and a version 2 hierarchy without controllers beside version 1. */
async function realLayouts(): Promise<CgroupLayout[]> {
  const layout = await detectCgroups();
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

  it('sets the limits', async ({ skip }) => {
    skip(layout.version !== 1 || layout.missing.length > 0, 'needs version 1 of control groups with every controller');
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

  it('a process that exceeds the memory limit is killed', async ({ skip }) => {
    const memory = layout.hierarchies.findIndex((tree) => tree.controllers.includes('memory'));
    skip(memory < 0, 'needs control groups that limit memory');
    const files = await cgroups.create('one', { ...limits, memoryBytes: 16 * 1024 * 1024 });
    const events = join(files[memory] ?? '', '..', layout.version === 2 ? 'memory.events' : 'memory.oom_control');
    const kills = async () => /^oom_kill (\d+)$/m.exec(await readFile(events, 'utf8'))?.[1];
    expect(await kills()).toBe('0');
    child = spawn('sh', ['-c', 'read go; exec dd if=/dev/zero of=/dev/null bs=200M'], {
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    for (const file of files) await writeFile(file, String(child.pid));
    const exited = once(child, 'exit');
    child.stdin?.end('go\n');
    expect(await exited).toEqual([null, 'SIGKILL']);
    expect(await kills()).toBe('1');
  });
});
