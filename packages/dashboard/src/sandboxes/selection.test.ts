import { expect, test } from 'vitest';
import { emptySelection, type Selection, toggle, toggleAll } from './selection.ts';

const shown = ['a', 'b', 'c', 'd', 'e'];
const chosen = (...clicks: readonly (readonly [id: string, isRange?: boolean])[]) =>
  clicks.reduce<Selection>((selection, [id, isRange = false]) => toggle(selection, id, shown, isRange), emptySelection);
const idsOf = ({ ids }: Selection) => [...ids].sort().join('');

test.each<[string, Selection, string]>([
  ['one', chosen(['b']), 'b'],
  ['one and back', chosen(['b'], ['b']), ''],
  ['two', chosen(['b'], ['d']), 'bd'],
  ['a range downwards', chosen(['b'], ['d', true]), 'bcd'],
  ['a range upwards', chosen(['d'], ['a', true]), 'abcd'],
  ['two ranges', chosen(['a'], ['b', true], ['d'], ['e', true]), 'abde'],
  ['a range that goes on', chosen(['a'], ['b', true], ['d', true]), 'abcd'],
  ['a range taken out', chosen(['a'], ['e', true], ['b'], ['d', true]), 'ae'],
  ['a range without a beginning', chosen(['c', true]), 'c'],
])('%s', (_what, selection, ids) => {
  expect(idsOf(selection)).toBe(ids);
});

test('a range whose beginning is no longer shown is one row', () => {
  expect(idsOf(toggle(chosen(['b']), 'd', ['c', 'd', 'e'], true))).toBe('bd');
});

test('all, and none again', () => {
  const all = toggleAll(chosen(['b']), shown);
  expect(idsOf(all)).toBe('abcde');
  expect(idsOf(toggleAll(all, shown))).toBe('');
});

test('taking out all that is shown keeps what is not', () => {
  expect(idsOf(toggleAll(chosen(['a'], ['c'], ['d']), ['c', 'd']))).toBe('a');
});
