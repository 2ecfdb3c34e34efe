import { expect, test } from 'vitest';
import { Places } from './places.ts';

test('places are limited per sandbox and per account, and given back once', () => {
  const places = new Places({ perSandbox: 2, perAccount: 3 });
  const first = places.take('acct_1', 'sbx_1');
  places.take('acct_1', 'sbx_1');
  expect(places.take('acct_1', 'sbx_1')).toBe('perSandbox');
  places.take('acct_1', 'sbx_2');
  expect(places.take('acct_1', 'sbx_2')).toBe('perAccount');
  expect(places.take('acct_2', 'sbx_1'), 'others take no place of theirs').toBeTypeOf('function');
  if (typeof first === 'string') throw new Error(first);
  first();
  first();
  expect(places.take('acct_1', 'sbx_2')).toBeTypeOf('function');
  expect(places.take('acct_1', 'sbx_2')).toBe('perSandbox');
});
