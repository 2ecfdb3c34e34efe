import { expect, test } from 'vitest';
import { defaultHeadroom, lackFor } from './headroom.ts';

const gibibyte = 1024 ** 3;
const host = (memoryGib: number, diskGib: number) => ({
  memoryAvailableBytes: memoryGib * gibibyte,
  diskFreeBytes: diskGib * gibibyte,
});
const nineteen = Array.from({ length: 19 }, () => 'small' as const);

test('twenty small machines at once fit a host of 24 GiB', () => {
  expect(lackFor('small', nineteen, host(22, 60), defaultHeadroom)).toBeUndefined();
});

test('memory below the reserve is refused, just above it is not', () => {
  expect(lackFor('small', [], host(1.5, 60), defaultHeadroom)).toBeUndefined();
  expect(lackFor('small', [], host(1.49, 60), defaultHeadroom)).toBe('memory');
  expect(lackFor('large', [], host(2.9, 60), defaultHeadroom)).toBe('memory');
});

test('machines on their way count before they show', () => {
  expect(lackFor('small', ['small', 'small'], host(2.4, 60), defaultHeadroom)).toBe('memory');
});

test('a full disk is refused', () => {
  expect(lackFor('small', [], host(20, 2.9), defaultHeadroom)).toBe('disk');
  expect(lackFor('large', [], host(20, 6), defaultHeadroom)).toBeUndefined();
});
