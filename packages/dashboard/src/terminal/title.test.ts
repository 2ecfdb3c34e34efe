import { expect, test } from 'vitest';
import { readableTitle } from './title.ts';

test.each([
  ['sandbox@box: /workspace', 'sandbox@box: /workspace'],
  ['<b>bold</b>', '<b>bold</b>'],
  ['two\nlines\u0007', 'two lines'],
  ['gpj.\u202Eexe', 'gpj. exe'],
  [' \u200B\u0000 ', undefined],
  ['', undefined],
])('%j is shown as %j', (title, shown) => {
  expect(readableTitle(title)).toBe(shown);
});

test('a long title is cut between characters', () => {
  expect(readableTitle('🔑'.repeat(10_000))).toBe(`${'🔑'.repeat(59)}…`);
});
