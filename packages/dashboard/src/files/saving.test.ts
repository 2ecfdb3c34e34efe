import { expect, test } from 'vitest';
import { decideSave, isText, lineSeparatorOf } from './saving.ts';

const text = (content: string) => ({ kind: 'text', content }) as const;

test('a file that is as it was is written', () => {
  expect(decideSave('mine', 'base', text('base'))).toEqual({ kind: 'write' });
});

test('nothing is written where nothing changes', () => {
  expect(decideSave('base', 'base', text('base'))).toEqual({ kind: 'same' });
  expect(decideSave('mine', 'base', text('mine'))).toEqual({ kind: 'same' });
});

test('what somebody else has changed is asked about', () => {
  expect(decideSave('mine', 'base', text('theirs'))).toEqual({ kind: 'ask', found: text('theirs') });
  expect(decideSave('base', 'base', text('theirs'))).toEqual({ kind: 'ask', found: text('theirs') });
  for (const kind of ['missing', 'other'] as const) {
    expect(decideSave('mine', 'base', { kind })).toEqual({ kind: 'ask', found: { kind } });
  }
});

test.each([
  ['a\nb', '\n'],
  ['a\r\nb\r\n', '\r\n'],
  ['a\r\nb\nc', '\n'],
  ['\na\r\n', '\n'],
  ['a\rb', '\n'],
  ['', '\n'],
])('the lines of %j end with %j', (content, separator) => {
  expect(lineSeparatorOf(content)).toBe(separator);
});

test('a NUL is not in text', () => {
  expect([isText('a\nb'), isText('a\0b')]).toEqual([true, false]);
});
