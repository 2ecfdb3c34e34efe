import type { UsageDay, UsageDays } from '@mayfly/contract/dashboard';
import { expect, test } from 'vitest';
import { columnsOf, partsOf, sumOf } from './series.ts';

const day = (date: string, item: UsageDay['item'], cost: number): UsageDay => ({
  date,
  item,
  cost_usd: cost,
  runtime_seconds: item === 'storage' ? 0 : cost * 36_000,
  sandboxes: 1,
});
const usage: UsageDays = {
  object: 'usage_days',
  at: '2026-03-01T10:00:00.000Z',
  first_date: '2026-02-27',
  last_date: '2026-03-01',
  balance_usd: 1,
  running: [],
  storage_usd_per_hour: 0,
  data: [day('2026-02-27', 'storage', 1), day('2026-02-27', 'small', 2), day('2026-03-01', 'large', 0.5)],
};

test('every day of the period is a column, with its parts from small to storage', () => {
  expect(columnsOf(usage, 'cost')).toEqual([
    {
      date: '2026-02-27',
      total: 3,
      parts: [
        { item: 'small', value: 2 },
        { item: 'storage', value: 1 },
      ],
    },
    { date: '2026-02-28', total: 0, parts: [] },
    { date: '2026-03-01', total: 0.5, parts: [{ item: 'large', value: 0.5 }] },
  ]);
});

test('runtime is in hours, and storage has none', () => {
  expect(columnsOf(usage, 'runtime').map(({ total }) => total)).toEqual([20, 0, 5]);
  expect(partsOf(usage.data, 'runtime')).toEqual([
    { item: 'small', value: 20 },
    { item: 'large', value: 5 },
  ]);
});

test('the sum of the parts is the whole', () => {
  expect(sumOf(partsOf(usage.data, 'cost'))).toBe(3.5);
});
