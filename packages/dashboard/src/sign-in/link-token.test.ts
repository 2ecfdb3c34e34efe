import { expect, test } from 'vitest';
import { readLinkToken } from './link-token.ts';

test('the token of a link is read from its fragment', () => {
  expect(readLinkToken('#link=abc_-123')).toBe('abc_-123');
});

test.each(['', '#', '#link', '#link=', '#sandboxes', '#other=abc'])('%j is no link', (fragment) => {
  expect(readLinkToken(fragment)).toBeUndefined();
});
