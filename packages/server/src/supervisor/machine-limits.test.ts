import { expect, test } from 'vitest';
import { readConfig } from '../app/config.ts';
import { launchConcurrency } from '../core/machines/launcher.ts';
import { hostCeilings, machineLimits } from './machine-limits.ts';

const gibibyte = 1024 ** 3;
const memoryGib = (settings: NodeJS.ProcessEnv, hostGib: number) =>
  machineLimits(readConfig(settings), hostGib * gibibyte).memoryBytes / gibibyte;

test('all machines together leave the reserve to the host, half a gibibyte at least', () => {
  expect(memoryGib({}, 24)).toBe(23);
  expect(memoryGib({ MAYFLY_MEMORY_RESERVE_MB: '4096' }, 24)).toBe(20);
  expect(memoryGib({ MAYFLY_MEMORY_RESERVE_MB: '0' }, 24)).toBe(23.5);
  expect(memoryGib({}, 1)).toBe(0.5);
  expect(memoryGib({ MAYFLY_MACHINES_MEMORY_MB: '2048' }, 24)).toBe(2);
});

test('the rate of a machine’s disk is a setting', () => {
  const settings = { MAYFLY_DISK_MB_PER_SECOND: '10', MAYFLY_DISK_OPERATIONS_PER_SECOND: '100' };
  expect(machineLimits(readConfig(settings)).diskRates).toEqual({
    bytesPerSecond: 10_485_760,
    operationsPerSecond: 100,
  });
});

test('the host process allows more machines than the service may have: pooled machines are still being destroyed when they make room', () => {
  expect(hostCeilings(readConfig({}))).toEqual({ diskReserveBytes: 2 * gibibyte });
  const settings = {
    MAYFLY_MAX_MACHINES: '10',
    MAYFLY_POOL: 'small=1,large=1,template:web=1',
    MAYFLY_DISK_RESERVE_MB: '1024',
  };
  expect(hostCeilings(readConfig(settings))).toEqual({
    maxMachines: 10 + 3 + launchConcurrency(),
    diskReserveBytes: gibibyte,
  });
});
