import { expect, test } from 'vitest';
import { axisEnd, nearest, pathsOf } from './path.ts';
import { longestStepMs } from './samples.ts';

const frame = { fromMs: 0, toMs: 10_000, most: 50 };
const at = (seconds: number, value: number | null) => ({ atMs: seconds * 1_000, value });

test('a line goes from left to right, with 0 at the bottom', () => {
  expect(pathsOf([at(0, 0), at(5, 25), at(10, 50)], frame)).toEqual({
    line: 'M0 100L500 50L1000 0',
    area: 'M0 100L500 50L1000 0V100H0Z',
  });
});

test('a value that is not known interrupts the line; a single one is a dash without an area', () => {
  expect(pathsOf([at(0, 50), at(2, 50), at(4, null), at(6, 50)], frame)).toEqual({
    line: 'M0 0L200 0M600 0h2',
    area: 'M0 0L200 0V100H0Z',
  });
});

test('a step that is too long interrupts the line', () => {
  const far = longestStepMs / 1_000 + 1;
  expect(pathsOf([at(0, 50), at(far, 50)], { ...frame, toMs: far * 1_000 }).line).toBe('M0 0h2M1000 0h2');
});

test('a value beyond the axis stays in the chart', () => {
  expect(pathsOf([at(0, 80), at(10, 80)], frame).line).toBe('M0 0L1000 0');
});

test('nothing known is an empty chart', () => {
  expect(pathsOf([at(0, null)], frame)).toEqual({ line: '', area: '' });
});

test.each([
  [0, 1024],
  [1024, 1024],
  [1025, 2048],
  [300 * 1024, 500 * 1024],
  [600 * 1024, 1024 ** 2],
  [3 * 1024 ** 3, 5 * 1024 ** 3],
])('the axis for up to %d bytes a second ends at %d', (most, end) => {
  expect(axisEnd(most)).toBe(end);
});

test('the nearest point is found on either side', () => {
  const points = [at(0, 1), at(2, 2), at(4, 3)];
  expect(nearest(points, 2_900)).toBe(points[1]);
  expect(nearest(points, 9_000)).toBe(points[2]);
  expect(nearest([], 0)).toBeUndefined();
});
