import { expect, test } from 'vitest';
import { readableName } from './names.ts';

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
