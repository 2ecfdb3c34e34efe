import { availableParallelism, totalmem } from 'node:os';
import type { CgroupLimits } from '../machines/qemu/jail/cgroup-limits.ts';
import type { Cgroups } from '../machines/qemu/jail/cgroups.ts';

/** The threads of Node and mayfly-jail; the service starts no processes. */
const maxThreads = 128;

const leastMemoryBytes = 1024 ** 3;

/**
 * How much of the host the service may use. V8 limits its own heap to a quarter of the host's memory, so half of it is never reached unless
 * something leaks. There is no quota of CPU time: machines have one.
 */
export function serviceLimits(hostMemoryBytes = totalmem(), cpuCores = availableParallelism()): CgroupLimits {
  return { cpuCores, memoryBytes: Math.max(leastMemoryBytes, Math.floor(hostMemoryBytes / 2)), pids: maxThreads };
}

/**
 * An empty cgroup for one of Mayfly's processes. Kills what an earlier run left in it, so only the holder of the data folder's lock may ask for it.
 * Returns the cgroup.procs files.
 */
export async function freshProcessCgroup(
  cgroups: Pick<Cgroups, 'create' | 'remove'>,
  name: string,
  limits: CgroupLimits,
): Promise<readonly string[]> {
  await cgroups.remove(name);
  return await cgroups.create(name, limits);
}
