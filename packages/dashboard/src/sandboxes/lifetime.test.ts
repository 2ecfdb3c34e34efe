import { expect, test } from 'vitest';
import { costUsd, formatCostSoFar, ranMs, timeLeft } from './lifetime.ts';

const minuteMs = 60_000;
const readyMs = Date.parse('2026-01-02T03:00:00.000Z');
const at = (minutes: number) => new Date(readyMs + minutes * minuteMs).toISOString();
const running = { status: 'running', size: 'medium', ready_at: at(0), expires_at: at(20), ended_at: null } as const;
const prices = { small: 0.05, medium: 0.1, large: 0.2 };

test('the bar shrinks from full to empty, and stays there', () => {
  const fractionAfter = (minutes: number) => timeLeft(running, readyMs + minutes * minuteMs)?.fraction;
  expect([-1, 0, 5, 15, 20, 30].map(fractionAfter)).toEqual([1, 1, 0.75, 0.25, 0, 0]);
});

test('after an extension the bar is of the whole lifetime', () => {
  expect(timeLeft({ ...running, expires_at: at(40) }, readyMs + 10 * minuteMs)).toEqual({
    leftMs: 30 * minuteMs,
    fraction: 0.75,
  });
});

test.each(['provisioning', 'deleting', 'deleted', 'failed'] as const)(
  'a sandbox that is %s has no time left',
  (status) => {
    expect(timeLeft({ ...running, status }, readyMs)).toBeUndefined();
  },
);

test('a running sandbox costs more every second', () => {
  expect(costUsd(running, prices, readyMs + 30 * minuteMs)).toBeCloseTo(0.05, 10);
});

test('an ended sandbox costs what it cost when it ended', () => {
  const ended = { ...running, ended_at: at(15) };
  expect(costUsd(ended, prices, readyMs + 600 * minuteMs)).toBeCloseTo(0.025, 10);
});

test('a sandbox that never became ready costs nothing', () => {
  expect(ranMs({ ready_at: null, ended_at: at(3) }, readyMs)).toBe(0);
  expect(costUsd({ ...running, ready_at: null }, prices, readyMs)).toBe(0);
});

test.each([
  [0, '$0.00'],
  [0.00004, '$0.0000'],
  [0.00417, '$0.0042'],
  [0.5, '$0.5000'],
  [1.23456, '$1.23'],
])('%d USD are shown as %s', (usd, text) => {
  expect(formatCostSoFar(usd)).toBe(text);
});
