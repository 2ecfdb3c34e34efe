import { mkdir, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Problem } from '../../network/host/problem.ts';
import { errorCode } from './control-file.ts';
import { detectCgroups } from './layout.ts';

const mountRemedy = (mountPoint: string): string =>
  `mount -t cgroup2 cgroup2 ${mountPoint} (systemd does that; in a container, share the host's cgroups with it)`;

/** Tries whether a group can be made, and removes it again. */
const checkTree = async (root: string): Promise<Problem[]> => {
  const group = join(root, `mayfly-check-${process.pid}`);
  try {
    await mkdir(group);
    await rmdir(group);
    return [];
  } catch (error) {
    const remedy = `run the service as root of the host itself; if ${root} is mounted read-only: mount -o remount,rw ${root}`;
    return [{ what: `no cgroup can be made under ${root} (${errorCode(error) ?? 'unknown error'})`, remedy }];
  }
};

/** Everything that keeps this host from limiting machines, with the remedy; empty when all is well. Leaves nothing changed. */
export const checkCgroupSupport = async (mountPoint = '/sys/fs/cgroup'): Promise<Problem[]> => {
  const layout = await detectCgroups(mountPoint).catch(() => undefined);
  if (!layout) return [{ what: `there are no cgroups under ${mountPoint}`, remedy: mountRemedy(mountPoint) }];
  return (await Promise.all(layout.hierarchies.map(({ root }) => checkTree(root)))).flat();
};
