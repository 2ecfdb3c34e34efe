import { expect, test } from 'vitest';
import { certifiedName } from './certified-name.ts';

test.each(['abc.localhost', '0.localhost', 'a-b.localhost', `${'x'.repeat(63)}.localhost`])(
  '%s is certified',
  (name) => {
    expect(certifiedName(name, 'localhost')).toBe(name);
  },
);

test('upper case makes no other name', () => {
  expect(certifiedName('AbC.LocalHost', 'localhost')).toBe('abc.localhost');
});

test.each([
  undefined,
  '',
  'localhost',
  '.localhost',
  'a.b.localhost',
  'a_b.localhost',
  '*.localhost',
  'abc.localhost.',
  'abclocalhost',
  'abc.localhost.example.com',
  'example.com',
  '127.0.0.1',
  '::1',
  'é.localhost',
  'a\0b.localhost',
  'a\n.localhost',
  `${'x'.repeat(64)}.localhost`,
  `${'x'.repeat(100_000)}.localhost`,
])('%j gets the certificate of the domain', (name) => {
  expect(certifiedName(name, 'localhost')).toBe('localhost');
});

test('a name that is longer than names can be gets the certificate of the domain', () => {
  const domain = `${'d'.repeat(63)}.${'d'.repeat(63)}.${'d'.repeat(63)}`;
  expect(certifiedName(`${'x'.repeat(61)}.${domain}`, domain)).not.toBe(domain);
  expect(certifiedName(`${'x'.repeat(62)}.${domain}`, domain)).toBe(domain);
});
