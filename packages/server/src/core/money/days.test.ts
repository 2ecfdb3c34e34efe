import { expect, test } from 'vitest';
import { dateOf, dayMs, dayOf, splitByDay } from './days.ts';

const midnight = Date.UTC(2026, 10, 19);
const hourMs = 3_600_000;
const today = dayOf(midnight);

test('a day begins at midnight UTC', () => {
  expect([midnight - 1, midnight, midnight + dayMs - 1].map((ms) => dateOf(dayOf(ms)))).toEqual([
    '2026-11-18',
    '2026-11-19',
    '2026-11-19',
  ]);
});

test('a span is split at midnight in proportion to the time', () => {
  const span = { fromMs: midnight - hourMs, untilMs: midnight + 3 * hourMs, amountMicroUsd: 400 };
  expect(splitByDay(span)).toEqual([
    { day: today - 1, amountMicroUsd: 100, durationMs: hourMs },
    { day: today, amountMicroUsd: 300, durationMs: 3 * hourMs },
  ]);
});

test('a span that ends at midnight is of the day before, and one without a duration of the day it begins', () => {
  expect(splitByDay({ fromMs: midnight - 5, untilMs: midnight, amountMicroUsd: 7 })).toEqual([
    { day: today - 1, amountMicroUsd: 7, durationMs: 5 },
  ]);
  for (const untilMs of [midnight, midnight - 5]) {
    expect(splitByDay({ fromMs: midnight, untilMs, amountMicroUsd: 7 })).toEqual([
      { day: today, amountMicroUsd: 7, durationMs: 0 },
    ]);
  }
});

test('parts add up exactly, whatever is rounded', () => {
  for (const amountMicroUsd of [0, 1, 2, 10, 99_999_999_999, 2 ** 52]) {
    for (const days of [0.3, 1, 2.7, 31, 399, 20_000]) {
      const span = { fromMs: midnight - 12_345, untilMs: midnight + Math.round(days * dayMs), amountMicroUsd };
      const parts = splitByDay(span);
      expect(parts.length).toBeLessThanOrEqual(400);
      expect(parts.every((part) => part.amountMicroUsd >= 0)).toBe(true);
      expect(parts.reduce((sum, part) => sum + part.amountMicroUsd, 0)).toBe(amountMicroUsd);
      expect(parts.reduce((sum, part) => sum + part.durationMs, 0)).toBe(span.untilMs - span.fromMs);
    }
  }
});
