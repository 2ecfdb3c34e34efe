import { expect, test } from 'vitest';
import { returnPath, signInTarget } from './return-path.ts';

test.each(['/keys', '/settings', '/sandboxes?status=failed', '/sandboxes/sbx_1'])('%s is returned to', (path) => {
  expect(returnPath(path)).toBe(path);
});

test.each([
  undefined,
  '',
  'keys',
  '/',
  '/sign-in?from=/sign-in',
  'https://evil.example/keys',
  '//evil.example/keys',
  '/\\evil.example/keys',
  '/.//evil.example',
  '/\t/evil.example',
  'javascript:alert(1)',
  7,
])('%j leads to the first page', (path) => {
  expect(returnPath(path)).toBe('/sandboxes');
});

test('the address of the sign-in page names only pages worth returning to', () => {
  expect(signInTarget('/sandboxes')).toEqual({ to: '/sign-in', search: {} });
  expect(signInTarget('/keys')).toEqual({ to: '/sign-in', search: { from: '/keys' } });
});
