import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { readPage, repositoryRoot, snippetsOf } from '../support/markdown.ts';
import { newServiceData, type ServiceData } from '../support/service-settings.ts';
import { needsTrustedCheckout } from '../support/trusted-checkout.ts';

needsTrustedCheckout();

const snippets = snippetsOf(readPage('README.md'));
const [startSnippet, commandSnippet, programSnippet, tourSnippet, ...otherSnippets] = snippets.map(
  ({ content }) => content,
);
/** A home folder in which the command is installed and keeps its profile. */
const home = mkdtempSync(join(tmpdir(), 'mayfly-home-'));
let data: ServiceData;
let start: ChildProcess;
let printed = '';
beforeAll(async () => {
  data = await newServiceData();
});
afterAll(async () => {
  if (start?.exitCode === null) {
    start.kill('SIGTERM');
    await once(start, 'exit');
  }
  await data.remove();
  rmSync(home, { recursive: true });
});

/** The address in the greeting. */
function addressIn(text: string): string {
  return /^ {2}API +http:\/\/(\S+)\/v1$/m.exec(text)?.[1] ?? 'unknown';
}

it('has snippets that start the service, use it by command line and program, and tour it, and no other', () => {
  expect(snippets.map(({ language }) => language)).toEqual(['sh', 'sh', 'ts', 'sh']);
  expect(otherSnippets).toEqual([]);
});

it('the first snippet starts the service', async () => {
  const settings = {
    ...data.settings,
    MAYFLY_PORT: '0',
    MAYFLY_PREVIEW_PORT: '0',
    MAYFLY_LOG_LEVEL: 'warn',
    MAYFLY_BIN_DIR: home,
  };
  start = spawn('bash', ['-c', `exec ${startSnippet}`], {
    cwd: repositoryRoot,
    env: { ...process.env, ...settings, MAYFLY_POOL: 'none' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  for (const stream of [start.stdout, start.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      printed += text;
    });
  }
  await expect.poll(() => (start.exitCode === null ? printed : 'it ended')).toMatch(/Mayfly is ready|it ended/);
  expect(printed).toContain('Mayfly is ready');
});

it('the first API key is in a file for root, because the output is not a terminal', async () => {
  const file = join(data.dataDir, 'service', 'first-api-key');
  expect(printed).toContain(`  API key    in ${file} `);
  expect(printed).not.toContain('mf_');
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const headers = { authorization: `Bearer ${readFileSync(file, 'utf8').trim()}` };
  expect((await fetch(`http://${addressIn(printed)}/v1/account`, { headers })).status).toBe(200);
});

it('the command and the program print their greeting, without a login', async () => {
  const env = {
    ...process.env,
    PATH: `${home}:${process.env.PATH}`,
    HOME: home,
    MAYFLY_DATA_DIR: data.dataDir,
    MAYFLY_PORT: addressIn(printed).split(':')[1],
  };
  const options = { cwd: repositoryRoot, env, timeout: 300_000 };
  const byCommand = await promisify(execFile)('bash', ['-c', commandSnippet ?? ''], options);
  expect(byCommand.stdout).toMatch(/^hello from \w+\n$/);
  // It uses the profile that the command has saved.
  const node = ['--input-type=module-typescript', '-e', programSnippet ?? ''];
  const byProgram = await promisify(execFile)(process.execPath, node, options);
  expect(byProgram.stdout.trimEnd()).toBe(byCommand.stdout.trimEnd());
});

it('the tour, pasted whole, shows what it promises', async () => {
  const script = `set -euo pipefail\n${tourSnippet?.replaceAll('127.0.0.1:8080', addressIn(printed))}`;
  const env = { ...process.env, MAYFLY_DATA_DIR: data.dataDir };
  const { stdout } = await promisify(execFile)('bash', ['-c', script], { cwd: repositoryRoot, env });
  const [system, cpus, user, , ...rest] = stdout.split('\n');
  expect(system).toMatch(/^Linux sbx-/);
  expect([cpus, user]).toEqual(['2', 'sandbox']);
  const text = rest.join('\n');
  expect(text).toContain('"path":"/workspace/hello.py"');
  expect(text.match(/^42$/gm)).toHaveLength(2);
  expect(text).toContain('<a href="hello.py">');
  expect(text.trim().split('\n').at(-1)).toContain('"status":"deleted"');
});
