import { expect, test } from 'vitest';
import { formatDay, formatHours, formatLongDay, formatTick, formatUsd } from './format.ts';
import { ticksOf } from './plot.ts';

test.each([
  [0, '$0.00'],
  [1234.5, '$1,234.50'],
  [0.999, '$1.00'],
  [0.5, '$0.50'],
  [0.084, '$0.08'],
  [0.0042, '$0.0042'],
  [0.00001, 'less than $0.0001'],
  [-3.2, '−$3.20'],
])('%d dollars are %s', (usd, text) => {
  expect(formatUsd(usd)).toBe(text);
});

test.each([
  [0, '0 s'],
  [45 / 3600, '45 s'],
  [0.2, '12 min'],
  [3 + 1 / 3, '3 h 20 min'],
  [59.999 / 60, '1 h'],
  [5, '5 h'],
  [1204.4, '1,204 h'],
])('%d hours are %s', (hours, text) => {
  expect(formatHours(hours)).toBe(text);
});

test('lines have as many decimals as tell them apart', () => {
  const texts = (max: number, measure: 'cost' | 'runtime') => {
    const ticks = ticksOf(max);
    return ticks.map((tick) => formatTick(tick, ticks, measure));
  };
  expect(texts(7, 'cost')).toEqual(['0', '$2', '$4', '$6', '$8']);
  expect(texts(10, 'cost')).toEqual(['0', '$2.50', '$5.00', '$7.50', '$10.00']);
  expect(texts(0.0042, 'cost')).toEqual(['0', '$0.002', '$0.004', '$0.006']);
  expect(texts(30, 'runtime')).toEqual(['0', '10 h', '20 h', '30 h']);
  expect(texts(1, 'runtime')).toEqual(['0', '15 min', '30 min', '45 min', '60 min']);
});

test('days are in UTC, wherever the reader is', () => {
  expect([formatDay('2026-11-19'), formatLongDay('2026-11-19')]).toEqual(['19 Nov', 'Thursday 19 November']);
});
