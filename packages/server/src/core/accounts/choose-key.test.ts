import { expect, test } from 'vitest';
import { chooseKey } from './choose-key.ts';

const keyOf = (id: string) => ({ id, prefix: 'mf_abcd', createdAtMs: 1, revokedAtMs: null });
const keys = ['key_aaaabbbb', 'key_aaaacccc', 'key_aaaa'].map(keyOf);

test('an id means that key, also when it begins other ids', () => {
  expect(chooseKey(keys, 'key_aaaa')).toEqual({ kind: 'one', key: keyOf('key_aaaa') });
});

test('a beginning means a key if it fits one alone', () => {
  expect(chooseKey(keys, 'key_aaaab')).toEqual({ kind: 'one', key: keyOf('key_aaaabbbb') });
  expect(chooseKey(keys.slice(0, 2), 'key_aaaa')).toEqual({ kind: 'several', ids: ['key_aaaabbbb', 'key_aaaacccc'] });
  expect(chooseKey(keys, 'key_aaaad')).toEqual({ kind: 'none' });
});

test.each(['', 'key_', 'key_aaa', 'mf_abcd'])('%j names no key', (named) => {
  expect(chooseKey(keys, named)).toEqual({ kind: 'none' });
});
