import { mkdtemp, rmdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
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
