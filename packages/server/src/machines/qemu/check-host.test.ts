import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { checkCgroupSupport, checkHostSupport } from './check-host.ts';
import { hostUidRange } from './jail/uid-leases.ts';
import { resolverUsers } from './network/resolver/resolver-users.ts';

let root = '';
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'mayfly-cgroup-'));
});
afterEach(() => rm(root, { recursive: true }));

it('reports a host without cgroups, with the remedy', async () => {
  expect(await checkCgroupSupport(root)).toEqual([
    { what: `there are no cgroups under ${root}`, remedy: expect.stringContaining(`mount -t cgroup2 cgroup2 ${root}`) },
  ]);
});

it('accepts cgroups and leaves no trial group behind', async () => {
  await writeFile(join(root, 'cgroup.controllers'), 'cpu memory pids\n');
  await writeFile(join(root, 'cgroup.subtree_control'), 'cpu memory pids\n');
  expect(await checkCgroupSupport(root)).toEqual([]);
  expect((await readdir(root)).toSorted()).toEqual(['cgroup.controllers', 'cgroup.subtree_control']);
});

it('names a hierarchy in which no group can be created', async () => {
  await mkdir(join(root, 'memory'));
  await writeFile(join(root, 'memory', 'cgroup.procs'), '');
  // The trial fails on the existing folder as it would on a read-only hierarchy.
  await mkdir(join(root, 'memory', `mayfly-check-${process.pid}`));
  const [problem] = await checkCgroupSupport(root);
  expect(problem?.what).toBe(`no cgroup can be created under ${join(root, 'memory')} (EEXIST)`);
  expect(problem?.remedy).toContain('remount,rw');
});

it('reports every user, group and range that has ids of machines', async () => {
  const id = hostUidRange.firstUid;
  const sources = {
    '/etc/subuid': `alice:${id - 1}:2\n`,
    '/etc/subgid': `bob:${id}:1\n`,
    '/etc/nsswitch.conf': '',
    passwd: `carol:x:${id}:100::/home/carol:/bin/sh\n`,
    group: `dave:x:${id}:\n`,
  };
  const problems = await checkHostSupport(
    { cgroupMount: root, tunPath: join(root, 'tun') },
    async (source) => sources[source],
  );
  expect(problems.map(({ what }) => what)).toEqual(
    expect.arrayContaining([
      expect.stringContaining('/etc/subuid gives alice the ids'),
      expect.stringContaining('/etc/subgid gives bob the ids'),
      expect.stringContaining(`the user carol has the id ${id}`),
      expect.stringContaining(`the group dave has the id ${id}`),
    ]),
  );
});

it('reports a user and a group of a directory that only tells of an account when asked for its id', async () => {
  const [user, group] = [hostUidRange.firstUid + 5, resolverUsers.firstUid + resolverUsers.slots - 1];
  const asked: number[] = [];
  const rows = { passwd: `eve:x:${user}:100::/home/eve:/bin/sh`, group: `staff:x:${group}:eve` };
  const problemsWith = async (nsswitch: string) => {
    const problems = await checkHostSupport({ cgroupMount: root, tunPath: join(root, 'tun') }, async (source, ids) => {
      if (source === '/etc/nsswitch.conf') return nsswitch;
      if (source === '/etc/subuid' || source === '/etc/subgid' || ids === undefined) return '';
      asked.push(ids.length);
      return ids.includes(source === 'passwd' ? user : group) ? rows[source] : '';
    });
    return problems.map(({ what }) => what).filter((what) => what.includes('has the id'));
  };
  expect(await problemsWith('passwd: files systemd\ngroup: files [SUCCESS=merge] systemd # sss\n')).toEqual([]);
  expect(asked).toEqual([]);
  expect(await problemsWith('passwd: files sss\ngroup:files [SUCCESS=merge] systemd ldap\n')).toEqual([
    expect.stringContaining(`the user eve has the id ${user}`),
    expect.stringContaining(`the group staff has the id ${group}`),
  ]);
  expect(Math.max(...asked)).toBeLessThanOrEqual(1_000);
});
