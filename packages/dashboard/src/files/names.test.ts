import { expect, test } from 'vitest';
import { readableName, readableSize } from './names.ts';

test.each([
  ['notes and more.txt', 'notes and more.txt'],
  ['<img src=x onerror=alert(1)>', '<img src=x onerror=alert(1)>'],
  ['a\nb\tc', 'a\\nb\\tc'],
  ['invoice\u202Efdp.exe', 'invoice\\u{202e}fdp.exe'],
  ['zero\u200Bwidth', 'zero\\u{200b}width'],
  [' before and after ', '␣before and after␣'],
  ['no-break\u00A0space', 'no-break\\u{a0}space'],
  ['日本語 🔑 é', '日本語 🔑 é'],
])('%j is shown as %s', (name, shown) => {
  expect(readableName(name)).toBe(shown);
});

test('sizes are short', () => {
  expect([0, 1, 1_023, 1_024, 1_536, 8_388_608, 5 * 1024 ** 3].map(readableSize)).toEqual([
    '0 B',
    '1 B',
    '1,023 B',
    '1 KiB',
    '1.5 KiB',
    '8 MiB',
    '5 GiB',
  ]);
});
