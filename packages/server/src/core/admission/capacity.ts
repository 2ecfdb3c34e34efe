import { type SizeName, sizes } from '@mayfly/contract';
import { ApiError } from '../errors/api-error.ts';
import { HostFull, HostUnavailable } from '../ports/machine-driver.ts';
import type { Metrics } from '../ports/metrics.ts';
import type { HostProbe, HostStats } from '../ports/runtime.ts';

const gibibyte = 1024 ** 3;

/** How far the host is overcommitted, and what is always kept free. */
export interface HeadroomRules {
  /** A machine is expected to use its memory divided by this. */
  readonly memoryOvercommit: number;
  readonly memoryReserveBytes: number;
  /** A machine is expected to write its disk divided by this. */
  readonly diskOvercommit: number;
  readonly diskReserveBytes: number;
}

export const defaultHeadroom: HeadroomRules = {
  memoryOvercommit: 8,
  memoryReserveBytes: gibibyte,
  diskOvercommit: 40,
  diskReserveBytes: 2 * gibibyte,
};

/** Creates are refused below this multiple of the disk reserve, whatever their size. Eviction starts at a lower one. */
export const refuseDiskFactor = 1.5;

export interface CapacityOptions {
  /** How many machines may exist at the same time. */
  readonly maxMachines: number;
  readonly headroom: HeadroomRules;
  readonly host: HostProbe;
  /** Whether new sandboxes are accepted: false while the service starts and stops. */
  readonly isAccepting: () => boolean;
  /** Whether machines can be launched: false while the process that runs them is away. */
  readonly isHostAvailable: () => boolean;
  /** The sandboxes that have a machine. */
  readonly existing: () => Iterable<string>;
  /** The sandboxes whose creates are admitted. Their machines may not exist yet. */
  readonly admitted: () => ReadonlyMap<string, SizeName>;
  readonly metrics: Pick<Metrics, 'capacityRefused'>;
}

/** Decides whether this host can take one more machine. */
export class Capacity {
  readonly #options: CapacityOptions;

  constructor(options: CapacityOptions) {
    this.#options = options;
  }

  /** Whether machines can be started at all. */
  isHostAvailable(): boolean {
    return this.#options.isHostAvailable();
  }

  /** Why a machine for a sandbox is refused; undefined if it is not. */
  refusalFor(size: SizeName): ApiError | undefined {
    const { isAccepting, isHostAvailable, maxMachines, metrics } = this.#options;
    if (!isAccepting()) return refusal('The service is starting or stopping.');
    if (!isHostAvailable()) {
      metrics.capacityRefused('host');
      return refusal('The service cannot start machines at the moment.');
    }
    if (this.#taken() >= maxMachines) {
      metrics.capacityRefused('ceiling');
      return refusal('The service is at machine capacity.');
    }
    const shortage = this.#shortageFor(size);
    if (shortage === undefined) return undefined;
    metrics.capacityRefused(shortage);
    return refusal(`The host has too little free ${shortage} for another machine.`);
  }

  /** Why a snapshot is refused that is expected to need this much disk space, with those in progress; undefined if it is not. */
  refusalForSnapshot(neededBytes: number): ApiError | undefined {
    const { isAccepting, isHostAvailable, host, headroom, metrics } = this.#options;
    if (!isAccepting()) return refusal('The service is starting or stopping.');
    if (!isHostAvailable()) {
      metrics.capacityRefused('host');
      return refusal('Snapshots cannot be taken at the moment.');
    }
    if (hasDiskFor(neededBytes, host.stats(), headroom)) return undefined;
    metrics.capacityRefused('disk');
    return refusal('The host has too little free disk for a snapshot.');
  }

  /** Throws if the pool, which has this many machines already, may not add one; HostUnavailable while nobody can launch it. */
  requireRoomInPool(pooledMachines: number, size: SizeName): void {
    const { isHostAvailable, maxMachines } = this.#options;
    if (!isHostAvailable()) throw new HostUnavailable('the host process is not available');
    if (this.#taken() + pooledMachines >= maxMachines) throw new HostFull(`there are ${maxMachines} machines already`);
    const shortage = this.#shortageFor(size);
    if (shortage !== undefined) throw new HostFull(`the host has too little free ${shortage} for another machine`);
  }

  /** How many machines of the pool exceed the maximum. */
  excess(pooledMachines: number): number {
    return Math.max(this.#taken() + pooledMachines - this.#options.maxMachines, 0);
  }

  #taken(): number {
    const { existing, admitted } = this.#options;
    return new Set([...existing(), ...admitted().keys()]).size;
  }

  #shortageFor(size: SizeName): 'memory' | 'disk' | undefined {
    const { host, headroom, admitted } = this.#options;
    return shortageFor(size, [...admitted().values()], host.stats(), headroom);
  }
}

function refusal(reason: string): ApiError {
  return new ApiError('capacity_unavailable', `${reason} Try again later.`);
}

/** What the host lacks for one more machine. Machines of admitted creates are added because its stats may not show them yet. Pure. */
export function shortageFor(
  size: SizeName,
  admitted: readonly SizeName[],
  host: HostStats,
  rules: HeadroomRules,
): 'memory' | 'disk' | undefined {
  const wanted = [size, ...admitted].map((name) => sizes[name]);
  const memoryBytes = wanted.reduce((sum, { memoryGb }) => sum + (memoryGb * gibibyte) / rules.memoryOvercommit, 0);
  const diskBytes = wanted.reduce((sum, { diskGb }) => sum + (diskGb * gibibyte) / rules.diskOvercommit, 0);
  if (host.memoryAvailableBytes - rules.memoryReserveBytes < memoryBytes) return 'memory';
  if (host.machinesMemoryLeftBytes < memoryBytes) return 'memory';
  return hasDiskFor(diskBytes, host, rules) ? undefined : 'disk';
}

/** Whether this much more disk space may be used. Pure. */
function hasDiskFor(neededBytes: number, { diskFreeBytes }: HostStats, { diskReserveBytes }: HeadroomRules): boolean {
  return diskFreeBytes - diskReserveBytes >= neededBytes && diskFreeBytes >= diskReserveBytes * refuseDiskFactor;
}
