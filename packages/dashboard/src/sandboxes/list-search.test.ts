import { sizeNames } from '@mayfly/contract';
import { expect, test } from 'vitest';
import { filters } from './filter.ts';
import { ages, isNarrowed, type ListSearch, orders, readListSearch, withChange } from './list-search.ts';

test('every choice survives its way through the address', () => {
  for (const status of filters) expect(withChange({}, { status })).toEqual(status === 'current' ? {} : { status });
  for (const size of sizeNames) expect(readListSearch({ size })).toEqual({ size });
  for (const age of ages) expect(readListSearch({ age })).toEqual({ age });
  for (const sort of orders) expect(withChange({}, { sort })).toEqual(sort === 'newest' ? {} : { sort });
  const whole: ListSearch = { status: 'all', q: 'a b', size: 'large', age: 'over-1h', sort: 'cost' };
  expect(readListSearch({ ...whole })).toEqual(whole);
});

test.each([
  { status: 'nonsense' },
  { status: ['failed'] },
  { status: 7 },
  { size: 'huge' },
  { size: 'constructor' },
  { age: '1h' },
  { sort: null },
  { q: '   ' },
  { q: { a: 1 } },
  { create: 'yes' },
  { from: 'snap_m4t7' },
  { other: 'x' },
])('the address %j means nothing', (search) => {
  expect(readListSearch(search)).toEqual({});
});

test('a number can be searched for', () => {
  expect(readListSearch({ q: 1841 })).toEqual({ q: '1841' });
});

test('the dialog can begin with a snapshot, if that has the form of an id', () => {
  expect(readListSearch({ create: true, from: 'snap_m4t7' })).toEqual({ create: true, from: 'snap_m4t7' });
  expect(readListSearch({ create: true, from: '"><script>' })).toEqual({ create: true });
});

test('a change keeps the rest, and undefined removes', () => {
  const search: ListSearch = { status: 'failed', q: 'x', sort: 'name' };
  expect(withChange(search, { q: 'y' })).toEqual({ status: 'failed', q: 'y', sort: 'name' });
  expect(withChange(search, { q: undefined, status: 'current', sort: 'newest' })).toEqual({});
});

test('a status and an order alone narrow nothing', () => {
  expect(isNarrowed({ status: 'failed', sort: 'name' })).toBe(false);
  expect(isNarrowed({ q: 'x' })).toBe(true);
});
