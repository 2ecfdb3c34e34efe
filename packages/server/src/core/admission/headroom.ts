import { type SizeName, sizes } from '@mayfly/contract';
import type { HostFigures } from '../ports/host.ts';

const gibibyte = 1024 ** 3;

/** How far machines may promise more than the host has, and what is never promised. */
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

/** What the host lacks for one more machine besides those on their way, which do not show in its figures yet. Pure. */
export function lackFor(
  size: SizeName,
  onTheWay: readonly SizeName[],
  host: HostFigures,
  rules: HeadroomRules,
): 'memory' | 'disk' | undefined {
  const wanted = [size, ...onTheWay].map((name) => sizes[name]);
  const memoryBytes = wanted.reduce((sum, { memoryGb }) => sum + (memoryGb * gibibyte) / rules.memoryOvercommit, 0);
  const diskBytes = wanted.reduce((sum, { diskGb }) => sum + (diskGb * gibibyte) / rules.diskOvercommit, 0);
  if (host.memoryAvailableBytes - rules.memoryReserveBytes < memoryBytes) return 'memory';
  if (host.diskFreeBytes - rules.diskReserveBytes < diskBytes) return 'disk';
  return undefined;
}
