import { totalmem } from 'node:os';
import type { Config } from '../app/config.ts';
import { launchConcurrency } from '../core/machines/launcher.ts';
import type { QemuDriverOptions } from '../machines/qemu/driver.ts';

/** What the service and the rest of the host have for themselves at least, even without a reserve. */
const leastForTheHostBytes = 512 * 1024 ** 2;

/** The limits of machines that the settings ask for. Without a setting, all machines together may use the host's memory except for the reserve. */
export function machineLimits(
  { diskRates, machinesMemoryBytes, headroom }: Pick<Config, 'diskRates' | 'machinesMemoryBytes' | 'headroom'>,
  hostMemoryBytes = totalmem(),
): Required<Pick<QemuDriverOptions, 'diskRates' | 'memoryBytes'>> {
  const left = hostMemoryBytes - Math.max(headroom.memoryReserveBytes, leastForTheHostBytes);
  return { diskRates, memoryBytes: machinesMemoryBytes ?? Math.max(left, leastForTheHostBytes) };
}

/**
 * What the host process allows a service, however it behaves. More than the service takes by itself: a machine for a sandbox is launched while those
 * of the pool that make room for it are still being destroyed.
 */
export function hostCeilings({
  maxMachines,
  pool,
  poolTemplates,
  headroom,
}: Pick<Config, 'maxMachines' | 'pool' | 'poolTemplates' | 'headroom'>): {
  readonly maxMachines?: number;
  readonly diskReserveBytes: number;
} {
  const { diskReserveBytes } = headroom;
  if (maxMachines === undefined) return { diskReserveBytes };
  const counts = [...Object.values(pool), ...poolTemplates.map(({ count }) => count)];
  const pooled = counts.reduce((sum, count) => sum + count, 0);
  return { diskReserveBytes, maxMachines: maxMachines + pooled + launchConcurrency() };
}
