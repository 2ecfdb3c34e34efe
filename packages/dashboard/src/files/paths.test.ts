import { expect, test } from 'vitest';
import {
  faultInName,
  foldersAbove,
  isExactName,
  isWithin,
  joinPath,
  nameOf,
  parentOf,
  pathInSearch,
  resolvePath,
} from './paths.ts';

const hostile = [
  'a\nb',
  "it's",
  '"quoted"',
  '<img src=x>',
  '$(reboot)',
  '-rf',
  ' ',
  '\u202Egpj.exe',
  '日本',
  'a\\b',
  '%2e%2e',
];

test.each(hostile)('the name %j survives being joined and taken apart', (name) => {
  const path = joinPath('/workspace', name);
  expect([parentOf(path), nameOf(path)]).toEqual(['/workspace', name]);
  expect(resolvePath(path, '/')).toBe(path);
  expect(faultInName(name, '/workspace')).toBeUndefined();
});

test('the root is in itself', () => {
  expect([joinPath('/', 'etc'), parentOf('/etc'), parentOf('/')]).toEqual(['/etc', '/', '/']);
});

test('a folder that only begins like another is not in it', () => {
  expect([
    isWithin('/work', '/'),
    isWithin('/workspace/a', '/workspace'),
    isWithin('/workspaces', '/workspace'),
  ]).toEqual([true, true, false]);
});

test('the folders above a path begin at the root of the tree', () => {
  expect(foldersAbove('/workspace/a/b', '/workspace')).toEqual(['/workspace', '/workspace/a']);
  expect(foldersAbove('/workspace/a', '/')).toEqual(['/', '/workspace']);
  expect(foldersAbove('/workspace', '/workspace')).toEqual([]);
  expect(foldersAbove('/', '/')).toEqual([]);
});

test.each([
  ['/a/../b/./c//', '/b/c'],
  ['notes.txt', '/workspace/notes.txt'],
  ['../../..', '/'],
  ['', '/workspace'],
])('%j leads to %s', (typed, path) => {
  expect(resolvePath(typed, '/workspace')).toBe(path);
});

test.each([[undefined], [7], ['etc'], ['/a\0b'], [['/etc']]])('the address %j leads to the workspace', (path) => {
  expect(pathInSearch(path)).toBe('/workspace');
});

test('an address is resolved', () => {
  expect(pathInSearch('/etc/../etc/motd')).toBe('/etc/motd');
});

test.each(['', '.', '..', 'a/b', 'a\0b', '\uD800', 'é'.repeat(128)])('%j is no name', (name) => {
  expect(faultInName(name, '/workspace')).toBeDefined();
});

test('a name whose bytes are not known is recognised', () => {
  expect([isExactName('caf\uFFFD'), isExactName('café')]).toEqual([false, true]);
});
