import { expect, test } from 'vitest';
import { contextCache } from './context-cache.ts';

function countingCache(capacity: number) {
  const made: string[] = [];
  let nowMs = 0;
  const get = contextCache({
    capacity,
    nowMs: () => nowMs,
    make: (name) => {
      made.push(name);
      return { name, renewAtMs: nowMs + 100 };
    },
  });
  return { get, made, advance: (ms: number) => (nowMs += ms) };
}

test('a name gets the same thing again', () => {
  const { get, made } = countingCache(10);
  expect(get('a')).toBe(get('a'));
  expect(made).toEqual(['a']);
});

test('no more are kept than there is room for, and the one unused for longest goes first', () => {
  const { get, made } = countingCache(2);
  for (const name of ['a', 'b', 'a', 'c', 'a', 'b']) get(name);
  expect(made).toEqual(['a', 'b', 'c', 'b']);
});

test('a thing is made anew when its time has come', () => {
  const { get, made, advance } = countingCache(2);
  const first = get('a');
  advance(99);
  expect(get('a')).toBe(first);
  advance(1);
  expect(get('a')).not.toBe(first);
  expect(made).toEqual(['a', 'a']);
});
