import { formatBytes } from '@mayfly/contract';
import type { HeadroomRules } from '../admission/capacity.ts';
import type { MachineUsage } from '../ports/machine-driver.ts';
import type { HostStats } from '../ports/runtime.ts';

export type Shortage = 'memory' | 'disk';

const mebibyte = 1024 ** 2;

/** Sandboxes are evicted below this multiple of the disk reserve, so before the reserve is touched. Creates are refused earlier. */
export const evictDiskFactor = 1.25;

/** Sandboxes are evicted when all machines together have less than this left of their memory limit: the kernel would kill any of them. */
export const machinesMemoryMarginBytes = 192 * mebibyte;

/** The end of a sandbox that holds less than this would not help. */
export const leastBytes: Readonly<Record<Shortage, number>> = { memory: 32 * mebibyte, disk: 32 * mebibyte };

/** What the service needs when it holds nothing of callers, with a margin. */
export const ordinaryServiceBytes = 256 * mebibyte;

/** What the host is running out of, so that running sandboxes have to make room; empty if there is enough. Pure. */
export function shortagesOf(host: HostStats, rules: HeadroomRules): Shortage[] {
  const disk = host.diskFreeBytes < rules.diskReserveBytes * evictDiskFactor;
  // No sandbox ends for memory that the service itself holds for a while: the end would help only until the service takes that memory too.
  const heldByServiceBytes = Math.max(0, host.serviceBytes - ordinaryServiceBytes);
  const memory =
    host.memoryAvailableBytes + heldByServiceBytes < rules.memoryReserveBytes ||
    host.machinesMemoryLeftBytes < machinesMemoryMarginBytes;
  return [...(disk ? ['disk' as const] : []), ...(memory ? ['memory' as const] : [])];
}

/** A running sandbox and what its machine holds. */
export interface Candidate extends MachineUsage {
  readonly sandboxId: string;
  readonly accountId: string;
}

export interface Victim {
  readonly sandboxId: string;
  /** One line for the sandbox's owner. */
  readonly reason: string;
}

/**
 * The sandbox that has to make room: for disk the one that wrote most; for memory the largest one of the account that uses most. Undefined
 * if no end of a sandbox would help. Pure.
 */
export function chooseVictim(shortage: Shortage, candidates: readonly Candidate[]): Victim | undefined {
  return shortage === 'disk' ? largestWriter(candidates) : largestOfHeaviestAccount(candidates);
}

function largestWriter(candidates: readonly Candidate[]): Victim | undefined {
  const victim = largestBy(candidates, ({ diskBytes }) => diskBytes);
  if (victim === undefined || victim.diskBytes < leastBytes.disk) return undefined;
  const wrote = formatBytes(victim.diskBytes);
  const reason = `the host was running out of disk space, and this sandbox had written the most (${wrote})`;
  return { sandboxId: victim.sandboxId, reason };
}

function largestOfHeaviestAccount(candidates: readonly Candidate[]): Victim | undefined {
  const useful = candidates.filter(({ memoryBytes }) => memoryBytes >= leastBytes.memory);
  const accounts = [...Map.groupBy(useful, ({ accountId }) => accountId).values()];
  const total = (sandboxes: readonly Candidate[]) => sandboxes.reduce((sum, { memoryBytes }) => sum + memoryBytes, 0);
  const heaviest = largestBy(accounts, total) ?? [];
  const victim = largestBy(heaviest, ({ memoryBytes }) => memoryBytes);
  if (victim === undefined) return undefined;
  const used = `${formatBytes(total(heaviest))}, of which this sandbox ${formatBytes(victim.memoryBytes)}`;
  const reason = `the host was running out of memory, and this account used the most (${used})`;
  return { sandboxId: victim.sandboxId, reason };
}

/** The first item with the largest value. */
function largestBy<Item>(items: readonly Item[], sizeOf: (item: Item) => number): Item | undefined {
  return items.reduce<Item | undefined>(
    (best, item) => (best === undefined || sizeOf(item) > sizeOf(best) ? item : best),
    undefined,
  );
}
