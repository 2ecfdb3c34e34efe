import { expect, test } from 'vitest';
import { formatRate, formatSize } from './bytes.ts';

test.each([
  [0, '0 B'],
  [0.4, '0 B'],
  [1023, '1023 B'],
  [1024, '1 KiB'],
  [1536, '1.5 KiB'],
  [1024 ** 2 - 200, '1 MiB'],
  [150 * 1024 ** 2, '150 MiB'],
  [39.3 * 1024 ** 3, '39.3 GiB'],
])('%d bytes are %s', (bytes, text) => {
  expect(formatSize(bytes)).toBe(text);
});

test('a rate has a unit of its own', () => {
  expect(formatRate(2048)).toBe('2 KiB/s');
});
