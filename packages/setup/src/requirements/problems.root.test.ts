import { spawnSync } from 'node:child_process';
import { chmod, mkdir, mkdtemp, rm, rmdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { projectRoot } from '../environment.ts';
import { refuseUnfitHost } from './problems.ts';

test('a host without cgroups and tun is refused with both, a good one is not', async () => {
  const empty = await mkdtemp(join(tmpdir(), 'mayfly-unfit-'));
  try {
    const refused = refuseUnfitHost({ cgroupMount: empty, tunPath: join(empty, 'tun') });
    await expect(refused).rejects.toThrow(
      /there are no cgroups under .*\n {4}Remedy: mount -t cgroup2 .*\n.*tun cannot be opened \(ENOENT\)\.\n {4}Remedy: modprobe tun/,
    );
    await refuseUnfitHost();
  } finally {
    await rmdir(empty);
  }
});

test.each(['start', 'host', 'update-guest'])(
  'mayfly %s is refused on a host where a user has the id of a machine',
  async (command) => {
    const folder = await mkdtemp(join(tmpdir(), 'mayfly-unfit-'));
    // Root refuses this cache, should the check be missing.
    const cacheDir = join(folder, 'cache');
    await mkdir(cacheDir);
    await chmod(cacheDir, 0o777);
    await writeFile(join(folder, 'getent'), '#!/bin/sh\necho eve:x:2000005:100::/home/eve:/bin/sh\n', { mode: 0o755 });
    const env = { ...process.env, PATH: `${folder}:${process.env.PATH}`, MAYFLY_CACHE_DIR: cacheDir };
    const { status, stderr } = spawnSync(process.execPath, [join(projectRoot, 'packages/setup/src/main.ts'), command], {
      env,
      encoding: 'utf8',
    });
    expect([status, stderr]).toEqual([1, expect.stringContaining('the user eve has the id 2000005')]);
    await rm(folder, { recursive: true });
  },
);
