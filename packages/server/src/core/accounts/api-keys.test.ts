import { expect, test } from 'vitest';
import { matchKey } from './api-keys.ts';

const keyOf = (id: string) => ({
  id,
  prefix: 'mf_abcd',
  name: null,
  createdAtMs: 1,
  lastUsedAtMs: null,
  revokedAtMs: null,
});
const keys = ['key_aaaabbbb', 'key_aaaacccc', 'key_aaaa'].map(keyOf);

test('an id matches its key, even when it is a prefix of other ids', () => {
  expect(matchKey(keys, 'key_aaaa')).toEqual({ kind: 'one', key: keyOf('key_aaaa') });
});

test('a prefix matches a key if no other key has it', () => {
  expect(matchKey(keys, 'key_aaaab')).toEqual({ kind: 'one', key: keyOf('key_aaaabbbb') });
  expect(matchKey(keys.slice(0, 2), 'key_aaaa')).toEqual({ kind: 'several', ids: ['key_aaaabbbb', 'key_aaaacccc'] });
  expect(matchKey(keys, 'key_aaaad')).toEqual({ kind: 'none' });
});

test.each(['', 'key_', 'key_aaa', 'mf_abcd'])('%j matches no key', (idOrPrefix) => {
  expect(matchKey(keys, idOrPrefix)).toEqual({ kind: 'none' });
});
