import { expect, test } from 'vitest';
import { tokenOf } from './preview-host.ts';

test.each([
  ['abc.localhost', 'abc'],
  ['abc.localhost:8443', 'abc'],
  ['ABC.LOCALHOST:8443', 'abc'],
  ['abc.localhost.:8443', 'abc'],
  ['localhost:8443', undefined],
  ['.localhost', undefined],
  ['a.b.localhost', undefined],
  ['abc.localhost.evil', undefined],
  ['abclocalhost', undefined],
  ['a_b.localhost', undefined],
  [`${'a'.repeat(64)}.localhost`, undefined],
  ['127.0.0.1:8443', undefined],
  ['', undefined],
  [undefined, undefined],
])('the token in %s is %s', (host, token) => {
  expect(tokenOf(host, 'localhost')).toBe(token);
});
