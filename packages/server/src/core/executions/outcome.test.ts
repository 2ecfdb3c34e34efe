import { expect, test } from 'vitest';
import { decodeOutput } from './outcome.ts';

test('text is unchanged, including a byte order mark', () => {
  expect(decodeOutput(Buffer.from('\ufeffgrüße 🦋\n'), false)).toBe('\ufeffgrüße 🦋\n');
});

test('bytes that are not UTF-8 become U+FFFD', () => {
  expect(decodeOutput(Buffer.from([0x61, 0xff, 0x62, 0xe2, 0x82]), false)).toBe('a\ufffdb\ufffd');
});

test('a character that the capture limit cut is dropped', () => {
  const butterfly = Buffer.from('ok🦋');
  for (let length = 2; length < butterfly.length; length++) {
    expect(decodeOutput(butterfly.subarray(0, length), true)).toBe('ok');
  }
});
