import fc from 'fast-check';
import { expect, test } from 'vitest';
import { formatUsd, maxMicroUsd, parseUsd } from './usd.ts';

test.each([
  ['25', 25_000_000],
  ['0.1', 100_000],
  ['0.10', 100_000],
  ['1.005', 1_005_000],
  ['4.35', 4_350_000],
  ['0.000001', 1],
  ['-0.29', -290_000],
  ['+3', 3_000_000],
  ['-0', 0],
  ['007', 7_000_000],
  ['1000000000', maxMicroUsd],
])('%s USD parse to exactly %d micro-dollars', (text, microUsd) => {
  expect(parseUsd(text)).toBe(microUsd);
});

test.each(['', ' 1', '1e3', '.5', '5.', '1,5', '$5', '0.0000001', '--1', 'NaN', '0x10', '1000000000.000001', '1\n'])(
  '%j is rejected',
  (text) => {
    expect(parseUsd(text)).toBeUndefined();
  },
);

test.each([
  [0, '0.00'],
  [1, '0.000001'],
  [100_000, '0.10'],
  [25_000_000, '25.00'],
  [-1_234_500, '-1.2345'],
  [maxMicroUsd, '1000000000.00'],
])('%d micro-dollars are formatted as %s', (microUsd, text) => {
  expect(formatUsd(microUsd)).toBe(text);
});

test('parsing a formatted amount gives the same amount', () => {
  fc.assert(
    fc.property(fc.integer({ min: -maxMicroUsd, max: maxMicroUsd }), (microUsd) => {
      expect(parseUsd(formatUsd(microUsd))).toBe(microUsd);
    }),
  );
});
