import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { resultOf } from '../../../sdk/test/stub-api.ts';
import { type RunOptions, runWith } from '../../test/run-with.ts';
import { type StubAccount, stubAccount } from '../../test/stub-account.ts';

let home: string;
let account: StubAccount;
let url: string;
let key: string;
beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), 'mayfly-home-'));
  account = await stubAccount();
  ({ url } = account.api);
  ({ key } = account.api.service);
});
afterEach(async () => {
  await account[Symbol.asyncDispose]();
  rmSync(home, { recursive: true });
});

const file = () => join(home, '.config/mayfly/config.json');
const saved = () => JSON.parse(readFileSync(file(), 'utf8')) as unknown;
const mayfly = (args: readonly string[], options?: RunOptions, env: NodeJS.ProcessEnv = {}) =>
  runWith(args, { HOME: home, ...env }, options);
const login = (...args: string[]) => mayfly(['login', '--url', url, '--key-stdin', ...args], { stdin: `${key}\n` });

describe('login', () => {
  test('on a terminal it asks, does not show the key, and saves a profile that other commands use', async () => {
    const ran = await mayfly(['login'], { terminalColumns: 80, answers: [url, key] });
    expect(ran).toMatchObject({
      code: 0,
      stdout: `Logged in to ${url} as a@localhost. Saved as profile default.\n`,
    });
    expect(ran.stderr).toContain('Address of the service [http://127.0.0.1:8080]: ');
    expect(ran.stderr).toContain('API key: ');
    expect(ran.stderr).not.toContain(key);
    expect(saved()).toEqual({ current: 'default', profiles: { default: { url, api_key: key } } });
    expect(await mayfly(['ls'])).toEqual({ code: 0, stdout: '', stderr: '' });
  });

  test('only the owner can read the file and its folder', async () => {
    mkdirSync(dirname(file()), { recursive: true });
    chmodSync(dirname(file()), 0o755);
    await login();
    expect(statSync(file()).mode & 0o777).toBe(0o600);
    expect(statSync(dirname(file())).mode & 0o777).toBe(0o700);
    expect(readdirSync(dirname(file()))).toEqual(['config.json']);
  });

  test('reads the key from standard input or the environment, and keeps other profiles', async () => {
    expect(await login('--profile', 'work')).toMatchObject({ code: 0 });
    const env = { MAYFLY_BASE_URL: `${url}/v1/`, MAYFLY_API_KEY: key };
    const { stdout } = await mayfly(['login', '--profile', 'home', '--json'], {}, env);
    expect(JSON.parse(stdout)).toMatchObject({ profile: 'home', url, account: { email: 'a@localhost' } });
    expect(saved()).toEqual({
      current: 'home',
      profiles: { work: { url, api_key: key }, home: { url, api_key: key } },
    });
  });

  test('a key that does not work is not saved', async () => {
    await login();
    const ran = await mayfly(['login', '--url', url, '--key-stdin'], { stdin: 'mf_wrong' });
    expect(ran).toMatchObject({ code: 3, stdout: '', stderr: expect.stringContaining('invalid_api_key') });
    expect(saved()).toEqual({ current: 'default', profiles: { default: { url, api_key: key } } });
  });

  test('a key that cannot be sent is refused without being shown, by login and by every other command', async () => {
    const bad = 'mf_secret\nmore';
    const refused = { code: 2, stdout: '', stderr: expect.stringContaining('contains characters that no key has') };
    const env = { MAYFLY_BASE_URL: url, MAYFLY_API_KEY: bad };
    for (const args of [['login'], ['ls'], ['template', 'build', 'web.yaml']]) {
      const ran = await mayfly(args, {}, env);
      expect(ran).toEqual(refused);
      expect(ran.stderr).not.toContain('secret');
    }
  });

  test.each([
    [['login'], 'Pass --url.'],
    [['login', '--url', 'http://127.0.0.1:1'], 'Pass --key-stdin'],
    [['login', '--url', 'http://127.0.0.1:1', '--key-stdin'], 'The API key is empty.'],
    [['login', '--url', 'http://127.0.0.1:1', '--profile', '../x'], 'The name of a profile'],
  ])('%j without a terminal fails and names the flag', async (args, message) => {
    expect(await mayfly(args)).toEqual({ code: 2, stdout: '', stderr: expect.stringContaining(message) });
  });

  test('a file that is not one of profiles is left as it is', async () => {
    await login();
    writeFileSync(file(), '{');
    expect(await login()).toMatchObject({ code: 1, stderr: expect.stringContaining('is not a valid profile file') });
    expect(readFileSync(file(), 'utf8')).toBe('{');
  });
});

describe('profiles', () => {
  test('are listed without their keys, chosen and removed', async () => {
    await login('--profile', 'work');
    await login('--profile', 'home');
    const listed = await mayfly(['profiles', '--json']);
    expect(JSON.parse(listed.stdout)).toEqual({
      current: 'home',
      profiles: [
        { name: 'work', url },
        { name: 'home', url },
      ],
    });
    expect((await mayfly(['profiles', 'use', 'work'])).stdout).toBe(`The current profile is work (${url}).\n`);
    expect((await mayfly(['profiles'])).stdout).toBe(`work\t${url}\tyes\nhome\t${url}\t\n`);
    expect((await mayfly(['profiles', 'ls'], { terminalColumns: 80 })).stdout).toMatch(
      /^PROFILE +URL +CURRENT\nwork +/,
    );
    expect(await mayfly(['logout'])).toMatchObject({ code: 0, stdout: expect.stringContaining('work was removed') });
    expect(saved()).toEqual({ current: 'work', profiles: { home: { url, api_key: key } } });
    expect(await mayfly(['ls'])).toMatchObject({ code: 2, stderr: expect.stringContaining('no API key') });
    expect(await mayfly(['ls', '--profile', 'home'])).toMatchObject({ code: 0 });
    expect(await mayfly(['profiles', 'use', 'work'])).toMatchObject({ code: 1 });
    expect(await mayfly(['logout', '--profile', 'none'])).toMatchObject({
      code: 1,
      stderr: 'error: There is no profile "none". List them with: mayfly profiles\n',
    });
  });

  test('one that is named on the command line comes before the environment', async () => {
    await login('--profile', 'work');
    const env = { MAYFLY_BASE_URL: 'http://127.0.0.1:1', MAYFLY_API_KEY: 'mf_other' };
    expect(await mayfly(['ls', '--profile', 'work'], {}, env)).toMatchObject({ code: 0 });
    expect(await mayfly(['ls', '--profile', 'none'], {}, env)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('mayfly login --profile none'),
    });
  });

  test('template build uses them too', async () => {
    await login('--profile', 'work');
    const recipe = join(home, 'web.yaml');
    writeFileSync(recipe, 'alias: web\nsteps: [ls]\n');
    account.api.live.onStart = (command) => command.end(resultOf({}));
    const built = await mayfly(['template', 'build', recipe, '--profile', 'work']);
    expect(built).toMatchObject({ code: 0, stderr: expect.stringContaining('Template web was built') });
    const env = { MAYFLY_BASE_URL: url, MAYFLY_API_KEY: key };
    expect(await mayfly(['template', 'build', recipe], {}, env)).toMatchObject({ code: 0 });
  });
});
