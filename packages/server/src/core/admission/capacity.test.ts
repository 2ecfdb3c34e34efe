import { expect, test } from 'vitest';
import { defaultHeadroom, shortageFor } from './capacity.ts';

const gibibyte = 1024 ** 3;
const host = (memoryGib: number, diskGib: number, machinesMemoryLeftGib = Number.POSITIVE_INFINITY) => ({
  memoryAvailableBytes: memoryGib * gibibyte,
  serviceBytes: 0,
  machinesMemoryLeftBytes: machinesMemoryLeftGib * gibibyte,
  diskFreeBytes: diskGib * gibibyte,
});
const nineteen = Array.from({ length: 19 }, () => 'small' as const);

test('twenty small machines at once fit a host of 24 GiB', () => {
  expect(shortageFor('small', nineteen, host(22, 60), defaultHeadroom)).toBeUndefined();
});

test('memory below the reserve is refused, just above it is not', () => {
  expect(shortageFor('small', [], host(1.5, 60), defaultHeadroom)).toBeUndefined();
  expect(shortageFor('small', [], host(1.49, 60), defaultHeadroom)).toBe('memory');
  expect(shortageFor('large', [], host(2.9, 60), defaultHeadroom)).toBe('memory');
});

test('machines of admitted creates count before the host’s stats show them', () => {
  expect(shortageFor('small', ['small', 'small'], host(2.4, 60), defaultHeadroom)).toBe('memory');
});

test('a full disk is refused', () => {
  expect(shortageFor('small', [], host(20, 2.9), defaultHeadroom)).toBe('disk');
  expect(shortageFor('large', [], host(20, 6), defaultHeadroom)).toBeUndefined();
});

test('a disk near its reserve is refused whatever the size, before any sandbox has to end', () => {
  const manyPerDisk = { ...defaultHeadroom, diskOvercommit: 1_000 };
  expect(shortageFor('small', [], host(20, 3), manyPerDisk)).toBeUndefined();
  expect(shortageFor('small', [], host(20, 2.99), manyPerDisk)).toBe('disk');
});

test('the memory limit of all machines together counts as well', () => {
  expect(shortageFor('small', [], host(20, 60, 0.5), defaultHeadroom)).toBeUndefined();
  expect(shortageFor('small', [], host(20, 60, 0.49), defaultHeadroom)).toBe('memory');
});
