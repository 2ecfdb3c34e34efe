import { mkdir, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { detectCgroups } from './jail/cgroup-layout.ts';
import { errorCode } from './jail/cgroups.ts';
import { checkGivenAwayIds, type ReadIdSource } from './jail/given-away-ids.ts';
import { checkNamespaceSupport, checkTunDevice, type HostProblem } from './network/check-support.ts';

/** Paths to check; the host's usual ones when absent. */
export interface HostPaths {
  readonly cgroupMount?: string;
  readonly tunPath?: string;
}

/** Checks what machines need and no package installs: cgroups, tun, network namespaces and ids that nobody else has. Changes nothing. */
export async function checkHostSupport(
  { cgroupMount, tunPath }: HostPaths = {},
  readIdSource?: ReadIdSource,
): Promise<HostProblem[]> {
  return (
    await Promise.all([
      checkCgroupSupport(cgroupMount),
      checkTunDevice(tunPath),
      checkNamespaceSupport(),
      checkGivenAwayIds(readIdSource),
    ])
  ).flat();
}

/** One message that lists everything the host lacks, each with its remedy. */
export function describeHostProblems(problems: readonly HostProblem[]): string {
  return [
    'This host cannot run virtual machines yet. Nothing was changed.',
    ...problems.map(({ what, remedy }) => `  • ${what}.\n    Remedy: ${remedy}`),
  ].join('\n');
}

/** Returns every problem that prevents this host from limiting machines, with its remedy. Changes nothing. */
export async function checkCgroupSupport(mountPoint = '/sys/fs/cgroup'): Promise<HostProblem[]> {
  const layout = await detectCgroups(mountPoint).catch(() => undefined);
  if (layout) return (await Promise.all(layout.hierarchies.map(({ root }) => checkHierarchy(root)))).flat();
  const remedy = `mount -t cgroup2 cgroup2 ${mountPoint} (systemd does that; in a container, share the host's cgroups with it)`;
  return [{ what: `there are no cgroups under ${mountPoint}`, remedy }];
}

/** Tries to create a group, and removes it again. */
async function checkHierarchy(root: string): Promise<HostProblem[]> {
  const group = join(root, `mayfly-check-${process.pid}`);
  try {
    await mkdir(group);
    await rmdir(group);
    return [];
  } catch (error) {
    const remedy = `run Mayfly as root of the host itself; if ${root} is mounted read-only: mount -o remount,rw ${root}`;
    return [{ what: `no cgroup can be created under ${root} (${errorCode(error) ?? 'unknown error'})`, remedy }];
  }
}
