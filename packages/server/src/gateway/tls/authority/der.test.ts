import { expect, test } from 'vitest';
import { der, tags } from './der.ts';

test.each([
  [0, '3000'],
  [127, '307f'],
  [128, '308180'],
  [255, '3081ff'],
  [256, '30820100'],
  [65_535, '3082ffff'],
])('%i bytes are told in the shortest way', (length, head) => {
  const value = der(tags.sequence, Buffer.alloc(length));
  expect(value.subarray(0, head.length / 2).toString('hex')).toBe(head);
  expect(value.length).toBe(head.length / 2 + length);
});

test('more than a certificate ever holds is refused', () => {
  expect(() => der(tags.sequence, Buffer.alloc(65_536))).toThrow(RangeError);
});
