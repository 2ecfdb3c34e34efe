import type { DirectoryEntry } from '@mayfly/contract';
import { expect, test } from 'vitest';
import { type Listing, maxShownEntries, moveByKey, rowsOf, sortEntries, type TreeView } from './tree.ts';

const entry = (name: string, type: DirectoryEntry['type'] = 'file'): DirectoryEntry => ({
  name,
  type,
  size_bytes: null,
});
const folders: Readonly<Record<string, Listing>> = {
  '/w': {
    kind: 'entries',
    entries: [entry('b'), entry('.git', 'dir'), entry('src', 'dir'), entry('a'), entry('lib', 'dir')],
  },
  '/w/src': { kind: 'entries', entries: [entry('main.ts')] },
  '/w/lib': { kind: 'failed', error: 'denied' },
};

function view(changes: Partial<TreeView> = {}): TreeView {
  const listingOf = (folder: string): Listing => folders[folder] ?? { kind: 'loading' };
  return { root: '/w', expanded: new Set(['/w/src']), showsHidden: false, listingOf, ...changes };
}
const shown = (changes?: Partial<TreeView>) =>
  rowsOf(view(changes)).map(({ kind, level, path }) =>
    kind === 'entry' ? `${level} ${path}` : `${level} ${kind} ${path}`,
  );

test('folders come first, then files, and numbers in order', () => {
  expect(
    sortEntries([entry('f10'), entry('f9'), entry('B'), entry('a'), entry('z', 'dir')]).map(({ name }) => name),
  ).toEqual(['z', 'a', 'B', 'f9', 'f10']);
});

test('what is expanded is shown below its folder', () => {
  expect(shown()).toEqual(['1 /w/lib', '1 /w/src', '2 /w/src/main.ts', '1 /w/a', '1 /w/b']);
  expect(shown({ showsHidden: true })[0]).toBe('1 /w/.git');
});

test('folders that are loading, empty, too large or refused say so', () => {
  const expanded = new Set(['/w/lib', '/w/src']);
  const listingOf = (folder: string): Listing =>
    folder === '/w/src' ? { kind: 'entries', entries: [entry('.env')] } : (folders[folder] ?? { kind: 'loading' });
  expect(shown({ expanded, listingOf })).toEqual([
    '1 /w/lib',
    '2 failed /w/lib',
    '1 /w/src',
    '2 empty /w/src',
    '1 /w/a',
    '1 /w/b',
  ]);
  const many = Array.from({ length: maxShownEntries + 3 }, (_, index) => entry(`f${index}`));
  expect(rowsOf(view({ listingOf: () => ({ kind: 'entries', entries: many }) })).at(-1)).toMatchObject({
    kind: 'more',
    count: 3,
  });
  expect(shown({ listingOf: () => ({ kind: 'loading' }) })).toEqual(['1 loading /w']);
});

test.each([
  ['/w/src', 'ArrowDown', { kind: 'focus', path: '/w/src/main.ts' }],
  ['/w/src', 'ArrowUp', { kind: 'focus', path: '/w/lib' }],
  ['/w/lib', 'ArrowUp', undefined],
  ['/w/b', 'ArrowDown', undefined],
  ['/w/b', 'Home', { kind: 'focus', path: '/w/lib' }],
  ['/w/lib', 'End', { kind: 'focus', path: '/w/b' }],
  ['/w/lib', 'ArrowRight', { kind: 'expand', path: '/w/lib' }],
  ['/w/src', 'ArrowRight', { kind: 'focus', path: '/w/src/main.ts' }],
  ['/w/src', 'ArrowLeft', { kind: 'collapse', path: '/w/src' }],
  ['/w/src/main.ts', 'ArrowLeft', { kind: 'focus', path: '/w/src' }],
  ['/w/a', 'ArrowLeft', undefined],
  ['/w/a', 'ArrowRight', undefined],
  ['/w/a', 'Enter', { kind: 'open', path: '/w/a' }],
  ['/w/a', 'B', { kind: 'focus', path: '/w/b' }],
  ['/w/a', 'Escape', undefined],
  [undefined, 'ArrowDown', { kind: 'focus', path: '/w/lib' }],
])('at %s the key %s leads to %j', (focused, key, move) => {
  expect(moveByKey(rowsOf(view()), focused, key)).toEqual(move);
});
