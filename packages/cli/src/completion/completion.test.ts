import { expect, test } from 'vitest';
import { completeIn } from '../../test/complete-in.ts';
import { mayflyInProcess } from '../../test/mayfly.ts';

const program = `source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _mayfly; printf '%s\\n' "\${COMPREPLY[@]}"`;
const complete = (...words: string[]) => completeIn('bash', ['-u', '-c', program], ['mayfly', ...words]);

test('bash completes commands, options and values', async () => {
  expect(await complete('')).toEqual(expect.arrayContaining(['create', 'ls', 'admin', '--help']));
  expect(await complete('cre')).toEqual(['create']);
  expect(await complete('port', 'c')).toEqual(['close']);
  expect(await complete('admin', 'accounts', 'cr')).toEqual(['create', 'credit']);
  expect(await complete('create', '--li')).toEqual(['--lifetime']);
  expect(await complete('create', '--size', '')).toEqual(['small', 'medium', 'large']);
  // The value of an option is a file, as far as bash knows.
  expect(await complete('create', '--name', '')).toEqual(['']);
  expect(await complete('completion', '')).toEqual(expect.arrayContaining(['bash', 'zsh', 'fish']));
  expect(await complete('completion', 'z')).toEqual(['zsh']);
  expect(await complete('rm', 'ls', '--a')).toEqual(['--all']);
});

test('an unknown shell is refused', async () => {
  expect(await mayflyInProcess(['completion', 'tcsh'])).toMatchObject({
    code: 2,
    stdout: '',
    stderr: expect.stringContaining('Allowed choices are bash, zsh, fish'),
  });
});
