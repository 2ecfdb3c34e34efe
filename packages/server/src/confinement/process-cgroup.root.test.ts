import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { confinedFolders, confinedPid, exitCodeOf } from '../../test/confinement/confined.ts';
import { jailProgram } from '../../test/network/go-tools.ts';
import { detectCgroups } from '../machines/qemu/jail/cgroup-layout.ts';
import { Cgroups } from '../machines/qemu/jail/cgroups.ts';
import { ProcessKiller } from '../machines/qemu/jail/process-killer.ts';
import { freshProcessCgroup, serviceLimits } from './process-cgroup.ts';
import { serviceConfinement } from './spec.ts';
import { startConfined } from './start-confined.ts';

const layout = await detectCgroups();

describe('on this host', () => {
  const instance = `test-processes-${process.pid}`;
  let child: ChildProcess | undefined;
  afterEach(async () => {
    child?.kill('SIGKILL');
    if (child) await exitCodeOf(child);
  });

  it('the confined process and its parent are in their group, and a new run ends what an old one left', async () => {
    await using folders = await confinedFolders();
    const cgroups = new Cgroups(layout, instance, { killer: new ProcessKiller(jailProgram()) });
    try {
      const cgroupProcs = await freshProcessCgroup(cgroups, 'service', serviceLimits());
      const plan = folders.plan(['-e', 'console.log("ready"); setInterval(() => {}, 1000)']);
      child = startConfined(jailProgram(), serviceConfinement({ ...plan, cgroupProcs }), { stdout: 'pipe' });
      if (child.stdout) await once(child.stdout, 'data');
      for (const pid of [child.pid, confinedPid(child)]) {
        const lines = (await readFile(`/proc/${pid}/cgroup`, 'utf8')).split('\n');
        expect(lines.filter((line) => line.endsWith(`/mayfly/${instance}/service`))).toHaveLength(
          layout.hierarchies.length,
        );
      }
      await freshProcessCgroup(cgroups, 'service', serviceLimits());
      await exitCodeOf(child);
      expect(child.signalCode).toBe('SIGKILL');
    } finally {
      await cgroups.remove('service');
      await cgroups.removeEmptyParents();
    }
  });
});
