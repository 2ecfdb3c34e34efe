import { expect, test } from 'vitest';
import { encodeBase32, randomIds } from './random-ids.ts';

test('ids are unique, and consist of a prefix and 24 lower-case characters', () => {
  const ids = new Set(Array.from({ length: 1000 }, () => randomIds.next('sbx')));
  expect(ids.size).toBe(1000);
  for (const id of ids) expect(id).toMatch(/^sbx_[a-z2-7]{24}$/);
});

test.each([
  ['', ''],
  ['f', 'my'],
  ['foobar', 'mzxw6ytboi'],
])('base32 of %j is %j', (text, encoded) => {
  expect(encodeBase32(Buffer.from(text))).toBe(encoded);
});
