import { expect, test } from 'vitest';
import { completeIn } from '../../test/complete-in.ts';

/** Only set-up installs these shells. In zsh, the functions that show what is offered print it instead. */
const zshProgram = `
  compdef() { :; }
  _describe() { print -l -- "\${(@)\${(@P)\${@[-1]}}%%:*}"; }
  _files() { print files; }
  compadd() { print -l -- "$@"; }
  source "$0"
  words=(mayfly "$@") CURRENT=$(( $# + 1 )) PREFIX="\${@[-1]}"
  _mayfly`;
const inZsh = async (...words: string[]) => {
  const offered = await completeIn('zsh', ['-f', '-c', zshProgram], words);
  // The shell itself drops what does not begin with the word before the cursor.
  return offered.filter((text) => text === 'files' || text.startsWith(words.at(-1) ?? ''));
};

const fishProgram = 'source $argv[1]; complete -C (string join -- " " mayfly $argv[2..])';
const inFish = async (...words: string[]) =>
  (await completeIn('fish', ['--no-config', '-c', fishProgram], words)).map((line) => line.split('\t')[0] ?? '');

test.each([
  ['zsh', inZsh],
  ['fish', inFish],
])('%s completes commands, options and values', async (_, complete) => {
  expect(await complete('')).toEqual(expect.arrayContaining(['create', 'ls', 'admin', 'completion']));
  expect(await complete('')).not.toContain('accounts');
  expect(await complete('cre')).toEqual(['create']);
  expect(await complete('port', 'c')).toEqual(['close']);
  expect((await complete('admin', 'accounts', 'cr')).toSorted()).toEqual(['create', 'credit']);
  expect(await complete('create', '--li')).toEqual(['--lifetime']);
  expect((await complete('create', '--size', '')).toSorted()).toEqual(['large', 'medium', 'small']);
  expect((await complete('completion', '')).toSorted()).toEqual(['bash', 'fish', 'zsh']);
  expect(await complete('completion', 'z')).toEqual(['zsh']);
  expect(await complete('rm', 'ls', '--a')).toEqual(['--all']);
});
