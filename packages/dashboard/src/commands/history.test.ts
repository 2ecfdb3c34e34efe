import { expect, test } from 'vitest';
import { atDraft, earlier, later, leavesText } from './history.ts';

const commands = ['make', 'make test', 'git status'];

test('going back and forth passes all commands and ends at what was typed', () => {
  const seen: string[] = [];
  let step = earlier(commands, atDraft, 'unfinished');
  let last = step;
  while (step) {
    last = step;
    seen.push(step.text);
    step = earlier(commands, step.place, step.text);
  }
  for (let next = last && later(commands, last.place); next; next = later(commands, next.place)) seen.push(next.text);
  expect(seen).toEqual(['git status', 'make test', 'make', 'make test', 'git status', 'unfinished']);
});

test('without commands nothing happens', () => {
  expect(earlier([], atDraft, 'x')).toBeUndefined();
  expect(later([], atDraft)).toBeUndefined();
});

test.each([
  ['ArrowUp', 'one\ntwo', 2, 'earlier'],
  ['ArrowUp', 'one\ntwo', 5, undefined],
  ['ArrowDown', 'one\ntwo', 2, undefined],
  ['ArrowDown', 'one\ntwo', 7, 'later'],
  ['ArrowDown', '', 0, 'later'],
  ['ArrowLeft', '', 0, undefined],
] as const)('%s in %j at %d is %s', (key, text, caret, direction) => {
  expect(leavesText(key, text, caret)).toBe(direction);
});
