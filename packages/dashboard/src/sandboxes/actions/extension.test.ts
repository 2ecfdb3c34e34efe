import { expect, test } from 'vitest';
import { extensionOf, readMinutes } from './extension.ts';

const createdMs = Date.parse('2026-01-02T03:00:00.000Z');
const at = (minutes: number) => new Date(createdMs + minutes * 60_000).toISOString();
const sandbox = { created_at: at(0), expires_at: at(15) };
const endAt = (minutes: number) => createdMs + minutes * 60_000;

test.each([
  [1, 16, false],
  [45, 60, false],
  [46, 60, true],
  [1440, 60, true],
])('%d minutes more end after %d minutes', (minutes, end, isCapped) => {
  expect(extensionOf(sandbox, minutes, 60)).toEqual({ endMs: endAt(end), isCapped });
});

test('a maximum that was lowered meanwhile shortens nothing', () => {
  expect(extensionOf({ ...sandbox, expires_at: at(90) }, 30, 60)).toEqual({ endMs: endAt(90), isCapped: true });
});

test('without an end there is nothing to extend', () => {
  expect(extensionOf({ ...sandbox, expires_at: null }, 30, 60)).toBeUndefined();
});

test.each([
  ['1', 1],
  [' 60 ', 60],
  ['0060', 60],
  ['0', undefined],
  ['61', undefined],
  ['', undefined],
  ['-5', undefined],
  ['1.5', undefined],
  ['1e1', undefined],
  ['0x10', undefined],
  ['９', undefined],
])('%j is %j', (text, minutes) => {
  expect(readMinutes(text, 60)).toBe(minutes);
});
