import { expect, test } from 'vitest';
import { parsePreferences } from './preferences.ts';

const usual = { fontSizePx: 14, isForScreenReaders: false };

test.each([null, '', '{', 'null', '7', '{"fontSizePx":"20"}', '{"fontSizePx":12.5}'])(
  '%j stands for the usual',
  (text) => {
    expect(parsePreferences(text)).toEqual(usual);
  },
);

test('the size of the text has bounds', () => {
  const sizeOf = (fontSizePx: number) => parsePreferences(JSON.stringify({ fontSizePx })).fontSizePx;
  expect([1, 9, 20, 26, 1_000].map(sizeOf)).toEqual([9, 9, 20, 26, 26]);
});
