import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { mayflyPath } from '#cli-test/mayfly.ts';
import { OnTerminal } from '#cli-test/on-terminal.ts';
import { readPage, snippetsOf } from '../support/markdown.ts';
import { startTestService, type TestService } from '../support/test-service.ts';

const snippets = snippetsOf(readPage('docs/cli.md')).map(({ content }) => content);
const [first = '', commands = '', shells = '', copies = '', api = '', scripts = '', completion = '', ...others] =
  snippets;

let service: TestService;
/** The home folder of the user, in which the commands are run. */
let home: string;
beforeAll(async () => {
  service = await startTestService();
  home = mkdtempSync(join(tmpdir(), 'mayfly-cli-page-'));
  mkdirSync(join(home, 'bin'));
  symlinkSync(mayflyPath, join(home, 'bin/mayfly'));
});
afterAll(async () => {
  await service.stop();
  rmSync(home, { recursive: true });
});

function environment(): NodeJS.ProcessEnv {
  const inherited = Object.entries(process.env).filter(([name]) => !/^(?:MAYFLY|XDG)_/.test(name));
  return { ...Object.fromEntries(inherited), HOME: home, PATH: `${home}/bin:${process.env.PATH}` };
}

/** What a script prints in a shell that stops at the first command that fails. */
async function run(script: string, shell = 'bash'): Promise<string> {
  const options = { cwd: home, env: environment(), timeout: 500_000 };
  const running = promisify(execFile)(shell, ['-c', `set -euo pipefail\n${script}`], options);
  // What is not a terminal would be passed on as standard input.
  running.child.stdin?.end();
  return (await running).stdout;
}

it('the page has the snippets that are run here, and no other', () => {
  expect(completion).toContain('mayfly completion');
  expect(others).toEqual([]);
});

it('the first commands, from the login to the end of a sandbox', async () => {
  const login = `mayfly login --url ${service.url} --key-stdin <<< ${service.key}`;
  const printed = await run(first.replace('mayfly login', login));
  expect(printed).toMatch(/^hello$/m);
  expect(printed).toMatch(/^Linux /m);
  expect(printed).toMatch(/^https:/m);
});

it('commands in a sandbox', async () => {
  writeFileSync(join(home, 'script.py'), 'import sys\nprint(sys.argv[1:])\n');
  writeFileSync(join(home, 'big.bin'), 'content');
  writeFileSync(join(home, 'package.json'), '{ "scripts": { "test": "echo tested" } }');
  await run('mayfly create --name web; mayfly cp package.json web:');
  const printed = await run(commands);
  expect(printed).toMatch(/^hello from sbx-/m);
  expect(printed).toMatch(/^42$/m);
  expect(printed).toMatch(/^\['one', 'two'\]$/m);
  expect(printed).toMatch(/^ed7002b439e9ac845f22357d822bac1444730fbdb6016d3ec9432297b9ec9f73 {2}-$/m);
  expect(printed).toMatch(/^tested$/m);
});

it.each(shells.trim().split('\n'))('%s', async (line) => {
  const [, ...args] = line.replace(/ *#.*/, '').split(' ');
  const terminal = new OnTerminal(args, environment());
  await expect.poll(() => terminal.printed).toMatch(/\$ /);
  terminal.type('exit 3\r');
  expect(await terminal.ended).toMatchObject({ code: 3 });
});

it('copies', async () => {
  writeFileSync(join(home, 'report.pdf'), 'a report');
  mkdirSync(join(home, 'src'));
  writeFileSync(join(home, 'src/main.c'), 'int main;');
  expect(await run(copies)).toContain('PRETTY_NAME=');
  expect(readdirSync(join(home, 'copy'))).toEqual(['main.c']);
  expect(await run('mayfly exec web cat report.pdf')).toBe('a report');
});

it('requests, and lists for scripts', async () => {
  expect(await run(api)).toContain('"name": "by hand"');
  expect(await run(scripts)).toMatch(/^sbx_\w+$/m);
  await run('mayfly rm --all --yes');
  expect(await run('mayfly ls --json')).toContain('"data": []');
});

it('completion', async () => {
  const bash = '.local/share/bash-completion/completions/mayfly';
  const files = [bash, 'functions/_mayfly', '.config/fish/completions/mayfly.fish'].map((file) => join(home, file));
  for (const file of files) mkdirSync(dirname(file), { recursive: true });
  await run(`fpath=("$HOME/functions")\n${completion}`, 'zsh');
  for (const file of files) expect(readFileSync(file, 'utf8')).toContain('# Completion of mayfly for');
});
