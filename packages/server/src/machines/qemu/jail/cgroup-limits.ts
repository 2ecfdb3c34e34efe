import type { Controller } from './cgroup-layout.ts';

/** How much of the host one machine may use. */
export interface CgroupLimits {
  readonly cpuCores: number;
  readonly memoryBytes: number;
  /** Processes and threads together. */
  readonly pids: number;
}

/** A control file and the value to write to it. */
export interface ControlFile {
  readonly name: string;
  readonly value: string;
  /** Skipped when the kernel does not have it; kernels without swap accounting lack the swap limit. */
  readonly optional?: boolean;
}

const mib = 1024 * 1024;

/** QEMU's memory besides the guest's RAM: 256 MiB of translated code without KVM, devices, disk caches and page tables. */
const overheadBytes = 512 * mib;

/** QEMU's threads: the main thread, one per virtual CPU, up to 64 for disks and a few for migration. */
const maxThreads = 128;

/** The period of the CPU quota, in microseconds. */
const periodUs = 100_000;

/** The limits of a machine with the given virtual CPUs and RAM. */
export function machineLimits(vcpu: number, guestMemoryBytes: number): CgroupLimits {
  return { cpuCores: vcpu, memoryBytes: guestMemoryBytes + overheadBytes, pids: maxThreads };
}

/** The control files that limit the memory of all machines of a host process together. */
export function groupMemoryFiles(version: 1 | 2, memoryBytes: number): ControlFile[] {
  return version === 1
    ? [{ name: 'memory.limit_in_bytes', value: String(memoryBytes) }]
    : [{ name: 'memory.max', value: String(memoryBytes) }];
}

/** The line of memory.stat that counts memory which only the end of a process, or the guest, gives back: not the page cache. */
export const ownedMemoryCounter: Readonly<Record<1 | 2, string>> = { 1: 'total_rss', 2: 'anon' };

/** The control files that set the limits, in the order in which they must be written. */
export function controlFiles(version: 1 | 2, controllers: readonly Controller[], limits: CgroupLimits): ControlFile[] {
  return controllers.flatMap((controller) => (version === 2 ? versionTwo : versionOne)[controller](limits));
}

const versionTwo: Readonly<Record<Controller, (limits: CgroupLimits) => ControlFile[]>> = {
  // All machines have the same weight, so that a busy one cannot take more than its share from the others.
  cpu: ({ cpuCores }) => [
    { name: 'cpu.max', value: `${Math.round(cpuCores * periodUs)} ${periodUs}` },
    { name: 'cpu.weight', value: '100' },
  ],
  memory: ({ memoryBytes }) => [
    { name: 'memory.max', value: String(memoryBytes) },
    { name: 'memory.swap.max', value: String(memoryBytes), optional: true },
  ],
  pids: ({ pids }) => [{ name: 'pids.max', value: String(pids) }],
};

const versionOne: typeof versionTwo = {
  cpu: ({ cpuCores }) => [
    { name: 'cpu.cfs_period_us', value: String(periodUs) },
    { name: 'cpu.cfs_quota_us', value: String(Math.round(cpuCores * periodUs)) },
    { name: 'cpu.shares', value: '1024' },
  ],
  memory: ({ memoryBytes }) => [
    { name: 'memory.limit_in_bytes', value: String(memoryBytes) },
    { name: 'memory.memsw.limit_in_bytes', value: String(2 * memoryBytes), optional: true },
  ],
  pids: versionTwo.pids,
};
