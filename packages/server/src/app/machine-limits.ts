import { totalmem } from 'node:os';
import type { QemuDriverOptions } from '../machines/qemu/driver.ts';
import type { Config } from './config.ts';

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
