import { expect, it } from 'vitest';
import { controllers } from './cgroup-layout.ts';
import { controlFiles, machineLimits } from './cgroup-limits.ts';

const gib = 1024 ** 3;
const limits = machineLimits(2, 4 * gib);
const written = (version: 1 | 2) =>
  Object.fromEntries(controlFiles(version, controllers, limits).map(({ name, value }) => [name, value]));

it('leaves QEMU memory besides the RAM of the guest', () => {
  expect(limits).toEqual({ cpuCores: 2, memoryBytes: 4.5 * gib, pids: 128 });
});

it('writes the expected files in version 2', () => {
  expect(written(2)).toEqual({
    'cpu.max': '200000 100000',
    'cpu.weight': '100',
    'memory.max': '4831838208',
    'memory.swap.max': '4831838208',
    'pids.max': '128',
  });
});

it('writes the expected files in version 1', () => {
  expect(written(1)).toEqual({
    'cpu.cfs_period_us': '100000',
    'cpu.cfs_quota_us': '200000',
    'cpu.shares': '1024',
    'memory.limit_in_bytes': '4831838208',
    'memory.memsw.limit_in_bytes': '9663676416',
    'pids.max': '128',
  });
});

it('leaves out controllers that the host does not have', () => {
  expect(controlFiles(2, ['pids'], limits)).toEqual([{ name: 'pids.max', value: '128' }]);
});
