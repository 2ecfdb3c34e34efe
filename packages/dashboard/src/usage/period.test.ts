import { expect, test } from 'vitest';
import { measures, periods, readUsageSearch, searchFor } from './period.ts';

test('every choice has an address that means it', () => {
  for (const days of periods) {
    for (const show of measures) {
      const search = searchFor(days, show);
      expect(readUsageSearch({ ...search })).toEqual(search);
    }
  }
  expect(searchFor(30, 'cost')).toEqual({});
});

test.each([{ days: '14' }, { days: 1e9 }, { days: ['7', '8'] }, { show: '<b>' }, {}])(
  '%j means the default',
  (search) => {
    expect(readUsageSearch(search)).toEqual({});
  },
);
