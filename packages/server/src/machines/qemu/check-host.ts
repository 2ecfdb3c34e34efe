import { checkCgroupSupport } from './jail/cgroup/check-support.ts';
import { checkNamespaceSupport, checkTunDevice } from './network/check-support.ts';
import type { Problem } from './network/host/problem.ts';

/** Where to look; the host's own places when absent. */
export interface HostPlaces {
  readonly cgroupMount?: string;
  readonly tunPath?: string;
}

/** What this host lacks for machines that no package brings, with the remedy: cgroups, tun, network namespaces. Leaves nothing changed. */
export const checkHostSupport = async ({ cgroupMount, tunPath }: HostPlaces = {}): Promise<Problem[]> =>
  (await Promise.all([checkCgroupSupport(cgroupMount), checkTunDevice(tunPath), checkNamespaceSupport()])).flat();
