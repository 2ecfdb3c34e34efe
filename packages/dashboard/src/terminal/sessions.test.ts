import { expect, test } from 'vitest';
import { arrange, parseArrangement } from './sessions.ts';

const none = { tabs: [], detached: [], selected: undefined };

test('a browser that remembers nothing shows all terminals, and the first one', () => {
  expect(arrange(none, ['term_b', 'term_a'])).toEqual({
    tabs: ['term_a', 'term_b'],
    detached: [],
    selected: 'term_a',
  });
  expect(arrange(none, [])).toEqual(none);
});

test('tabs keep their order, new terminals follow, and ended ones are gone', () => {
  const remembered = { tabs: ['term_c', 'term_x', 'term_a'], detached: ['term_d', 'term_y'], selected: 'term_a' };
  expect(arrange(remembered, ['term_a', 'term_b', 'term_c', 'term_d'])).toEqual({
    tabs: ['term_c', 'term_a', 'term_b'],
    detached: ['term_d'],
    selected: 'term_a',
  });
});

test('another tab is selected in place of one that has ended', () => {
  const remembered = { tabs: ['term_a', 'term_b'], detached: [], selected: 'term_a' };
  expect(arrange(remembered, ['term_b']).selected).toBe('term_b');
});

test('a terminal is shown once, whatever was stored or is listed', () => {
  const remembered = { tabs: ['term_a'], detached: ['term_a'], selected: undefined };
  expect(arrange(remembered, ['term_a', 'term_a'])).toEqual({ tabs: ['term_a'], detached: [], selected: 'term_a' });
});

test.each([null, '', '{', '7', 'null', '[]', '{"tabs":7}', '{"tabs":[7,null,{}]}'])('%j holds nothing', (text) => {
  expect(parseArrangement(text)).toEqual(none);
});

test('what was stored is read again', () => {
  const stored = { tabs: ['term_a', 'term_b'], detached: ['term_c'], selected: 'term_b' };
  expect(parseArrangement(JSON.stringify(stored))).toEqual(stored);
  expect(parseArrangement('{"tabs":["term_a","term_a"]}').tabs).toEqual(['term_a']);
});
