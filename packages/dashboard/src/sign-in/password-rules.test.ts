import { expect, test } from 'vitest';
import { passwordProblem } from './password-rules.ts';

const email = 'ada.lovelace@example.com';

test.each(['twelve chars', 'x'.repeat(256), '🐞'.repeat(12)])('%j can be a password', (password) => {
  expect(passwordProblem(password, email)).toBeUndefined();
});

test.each([
  ['', 'At least 12 characters: 12 more are needed.'],
  ['eleven char', 'At least 12 characters: 1 more is needed.'],
  ['x'.repeat(257), 'At most 256 characters.'],
  ['Ada.Lovelace@Example.com', 'Choose something other than your e-mail address.'],
])('%j cannot', (password, problem) => {
  expect(passwordProblem(password, email)).toBe(problem);
});
