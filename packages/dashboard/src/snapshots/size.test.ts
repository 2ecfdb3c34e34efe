import { expect, test } from 'vitest';
import { formatSize } from './size.ts';

test.each([
  [0, '0 bytes'],
  [999, '999 bytes'],
  [1_000, '1.0 kB'],
  [29_147_136, '29.1 MB'],
  [512_400_000, '512 MB'],
  [2_400_000_000, '2.4 GB'],
  [160_000_000_000, '160 GB'],
])('%d bytes are %s', (bytes, text) => {
  expect(formatSize(bytes)).toBe(text);
});
