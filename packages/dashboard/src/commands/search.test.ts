import { expect, test } from 'vitest';
import { OutputBuffer } from './output-buffer.ts';
import { describeMatches, findMatches, mostMatches, step } from './search.ts';

function bufferOf(output: string): OutputBuffer {
  const buffer = new OutputBuffer();
  buffer.append('stdout', output);
  return buffer;
}

test('every place is found, whatever its case, also in a line that has not ended', () => {
  expect(findMatches(bufferOf('Error: an error\nfine\n\u001b[31merr\u001b[0mor'), 'error')).toEqual([
    { line: 0, from: 0, to: 5 },
    { line: 0, from: 10, to: 15 },
    { line: 2, from: 0, to: 5 },
  ]);
});

test('what is searched for is text and no pattern', () => {
  expect(findMatches(bufferOf('a.b\nacb\n(a[b]\\{c}*\n'), 'a.b')).toHaveLength(1);
  expect(findMatches(bufferOf('(a[b]\\{c}*\n'), '(a[b]\\{c}*')).toHaveLength(1);
  expect(findMatches(bufferOf('anything'), '')).toEqual([]);
});

test('lines that were dropped are not found, and the others keep their numbers', () => {
  const buffer = new OutputBuffer({ characters: 1_000, lines: 10, lineCharacters: 100 });
  for (let index = 0; index < 100; index += 1) buffer.append('stdout', `line ${index}\n`);
  const found = findMatches(buffer, 'line');
  expect(found[0]?.line).toBe(buffer.firstLine);
  expect(found.at(-1)?.line).toBe(99);
});

test('the number of matches is bounded', () => {
  expect(findMatches(bufferOf('x'.repeat(100)), 'x', 7)).toHaveLength(7);
});

test('going on from the last match leads to the first', () => {
  expect([step(3, -1, 1), step(3, 2, 1), step(3, 0, -1), step(3, -1, -1), step(3, 9, 1), step(0, 0, 1)]).toEqual([
    0, 0, 2, 2, 0, -1,
  ]);
});

test('the count is said', () => {
  expect(describeMatches(0, -1)).toBe('nothing found');
  expect(describeMatches(12, -1)).toBe('12 found');
  expect(describeMatches(12, 2)).toBe('3 of 12');
  expect(describeMatches(mostMatches, 0)).toBe('1 of 10,000+');
});
