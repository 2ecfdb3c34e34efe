import { expect, it } from 'vitest';
import { freshProcessCgroup, serviceLimits } from './process-cgroup.ts';

it('starts from an empty group', async () => {
  const calls: string[] = [];
  const cgroups = {
    remove: async (id: string) => void calls.push(`remove ${id}`),
    create: async (id: string) => [calls.push(`create ${id}`) > 0 ? `/${id}/cgroup.procs` : ''],
  };
  expect(await freshProcessCgroup(cgroups, 'one', serviceLimits())).toEqual(['/one/cgroup.procs']);
  expect(calls).toEqual(['remove one', 'create one']);
});
