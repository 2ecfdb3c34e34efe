import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { mayflyInProcess } from '../../test/mayfly.ts';

const scriptFor = async (shell: string) => (await mayflyInProcess(['completion', shell])).stdout;

/** What bash offers when Tab is pressed after these words. */
async function complete(...words: string[]): Promise<string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'mayfly-completion-'));
  try {
    const script = join(folder, 'mayfly.bash');
    writeFileSync(script, await scriptFor('bash'));
    const program = `source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _mayfly; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const offered = execFileSync('bash', ['-u', '-c', program, script, 'mayfly', ...words], { encoding: 'utf8' });
    return offered.trim().split('\n');
  } finally {
    rmSync(folder, { recursive: true });
  }
}

test('bash completes commands, options and values', async () => {
  expect(await complete('')).toEqual(expect.arrayContaining(['create', 'ls', 'admin', '--help']));
  expect(await complete('cre')).toEqual(['create']);
  expect(await complete('port', 'c')).toEqual(['close']);
  expect(await complete('admin', 'accounts', 'cr')).toEqual(['create', 'credit']);
  expect(await complete('create', '--li')).toEqual(['--lifetime']);
  expect(await complete('create', '--size', '')).toEqual(['small', 'medium', 'large']);
  // The value of an option is a file, as far as bash knows.
  expect(await complete('create', '--name', '')).toEqual(['']);
  expect(await complete('rm', 'ls', '--a')).toEqual(['--all']);
});

test.each(['bash', 'zsh', 'fish'])('the script for %s names every command and option', async (shell) => {
  const script = await scriptFor(shell);
  for (const word of ['create', 'extend', 'rollback', 'install-service', 'completion']) expect(script).toContain(word);
  expect(script).toContain(shell === 'fish' ? '-l lifetime' : '--lifetime');
  expect(script).toContain(shell === 'fish' ? "' create'" : "' create'");
});

test('an unknown shell is refused', async () => {
  expect(await mayflyInProcess(['completion', 'tcsh'])).toMatchObject({
    code: 2,
    stdout: '',
    stderr: expect.stringContaining('Allowed choices are bash, zsh, fish'),
  });
});
