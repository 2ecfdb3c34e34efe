import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isoOf, isoOrNull } from './iso-time.ts';

test('is what Date writes, for times of every year and in any order', () => {
  const years = fc.integer({ min: -8_640_000_000_000_000, max: 8_640_000_000_000_000 });
  const neighbours = fc.integer({ min: 1_763_164_700_000, max: 1_763_164_900_000 });
  fc.assert(
    fc.property(fc.array(fc.oneof(years, neighbours)), (times) => {
      expect(times.map(isoOf)).toEqual(times.map((ms) => new Date(ms).toISOString()));
    }),
  );
});

test('a time that has not come is null', () => {
  expect([isoOrNull(null), isoOrNull(0)]).toEqual([null, '1970-01-01T00:00:00.000Z']);
});
