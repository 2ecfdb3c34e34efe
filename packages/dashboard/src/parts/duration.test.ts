import { expect, test } from 'vitest';
import { formatAgo, formatDuration } from './duration.ts';

const minuteMs = 60_000;

test.each([
  [-5, '0 s'],
  [999, '0 s'],
  [59_999, '59 s'],
  [minuteMs, '1 min'],
  [59.9 * minuteMs, '59 min'],
  [60 * minuteMs, '1 h'],
  [85 * minuteMs, '1 h 25 min'],
  [47 * 60 * minuteMs, '47 h'],
  [50 * 60 * minuteMs, '2 days'],
])('%d ms are %s', (ms, text) => {
  expect(formatDuration(ms)).toBe(text);
});

test('what is a few seconds old happened just now', () => {
  expect(formatAgo(-3_000)).toBe('just now');
  expect(formatAgo(12_000)).toBe('12 s ago');
});

test('how long ago is said in one unit', () => {
  expect(formatAgo(26.9 * 60 * minuteMs)).toBe('26 h ago');
  expect(formatAgo(49 * 60 * minuteMs)).toBe('2 days ago');
});
