import { describe, expect, test } from 'vitest';
import { barsOf, columnAt, columnForKey, labelledColumns, ticksOf } from './plot.ts';

describe('ticks', () => {
  test.each([
    [1, [0, 0.25, 0.5, 0.75, 1]],
    [0.0042, [0, 0.002, 0.004, 0.006]],
    [7, [0, 2, 4, 6, 8]],
    [0.3, [0, 0.1, 0.2, 0.3]],
    [1999, [0, 500, 1000, 1500, 2000]],
    [0, [0, 1]],
    [Number.NaN, [0, 1]],
  ])('for %d are %j', (max, ticks) => {
    expect(ticksOf(max)).toEqual(ticks);
  });

  test('reach the largest value with few lines, whatever it is', () => {
    for (let max = 1e-6; max < 1e7; max *= 1.37) {
      const ticks = ticksOf(max);
      expect(ticks.at(-1)).toBeGreaterThanOrEqual(max * 0.999_999);
      expect(ticks.length).toBeGreaterThanOrEqual(3);
      expect(ticks.length).toBeLessThanOrEqual(6);
    }
  });
});

const column = {
  date: '2026-01-01',
  total: 10,
  parts: [
    { item: 'small', value: 7.5 },
    { item: 'large', value: 2.5 },
  ],
} as const;

test('bars stand on each other and fill their share of the height', () => {
  const place = { index: 1, count: 4, max: 20, size: { width: 200, height: 100 } };
  expect(barsOf(column, place)).toEqual([
    { item: 'small', value: 7.5, x: 57, y: 62.5, width: 36, height: 37.5, isTop: false },
    { item: 'large', value: 2.5, x: 57, y: 50, width: 36, height: 12.5, isTop: true },
  ]);
});

test('the smallest part is a pixel high', () => {
  const place = { index: 0, count: 1, max: 1e6, size: { width: 10, height: 100 } };
  expect(barsOf(column, place).map(({ height }) => height)).toEqual([1, 1]);
});

test('a point belongs to the column below it, outside of the plot to the nearest', () => {
  expect([-5, 0, 24, 25, 99, 100, 500].map((x) => columnAt(x, 4, 100))).toEqual([0, 0, 0, 1, 3, 3, 3]);
  expect(columnAt(5, 4, 0)).toBe(0);
});

test('today always has its date, and dates have room', () => {
  expect(labelledColumns(7, 1000)).toEqual([0, 1, 2, 3, 4, 5, 6]);
  expect(labelledColumns(30, 300)).toEqual([1, 8, 15, 22, 29]);
  expect(labelledColumns(1, 300)).toEqual([0]);
});

test('keys move by a day, a week or to the ends, and never out of the chart', () => {
  const move = (key: string, current: number) => columnForKey(key, current, 30);
  expect([move('ArrowLeft', 5), move('ArrowRight', 5), move('PageUp', 5), move('PageDown', 5)]).toEqual([4, 6, 12, 0]);
  expect([move('Home', 5), move('End', 5), move('ArrowLeft', 0), move('ArrowRight', 29)]).toEqual([0, 29, 0, 29]);
  expect(move('Tab', 5)).toBeUndefined();
});
