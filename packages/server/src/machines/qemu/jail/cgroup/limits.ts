import type { Controller } from './layout.ts';

/** What one machine may use of the host. */
export interface CgroupLimits {
  readonly cpuCores: number;
  readonly memoryBytes: number;
  /** Processes and threads together. */
  readonly pids: number;
}

/** One control file and what is written to it. */
export interface ControlFile {
  readonly name: string;
  readonly value: string;
  /** Kernels without swap accounting have no such file. */
  readonly optional?: boolean;
}

const mib = 1024 * 1024;

/** What QEMU needs besides the guest's RAM: 256 MiB of translated code without KVM, devices, disk caches, page tables. */
const overheadBytes = 512 * mib;

/** QEMU's threads: main, one per virtual CPU, up to 64 for disks, a few for migration. */
const maxThreads = 128;

/** How long a CPU quota lasts, in microseconds. */
const periodUs = 100_000;

/** The limits of a machine with this many virtual CPUs and this much RAM. */
export const machineLimits = (vcpu: number, guestMemoryBytes: number): CgroupLimits => ({
  cpuCores: vcpu,
  memoryBytes: guestMemoryBytes + overheadBytes,
  pids: maxThreads,
});

const versionTwo: Readonly<Record<Controller, (limits: CgroupLimits) => ControlFile[]>> = {
  // Every machine weighs the same, so that a busy one takes no more than its part from the others.
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

/** The control files that set these limits, in the order to write them. */
export const controlFiles = (version: 1 | 2, own: readonly Controller[], limits: CgroupLimits): ControlFile[] =>
  own.flatMap((controller) => (version === 2 ? versionTwo : versionOne)[controller](limits));
