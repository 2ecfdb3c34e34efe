import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { mayflyInProcess, mayflyPath } from '../../test/mayfly.ts';
import { runWith } from '../../test/run-with.ts';
import { type StubAccount, stubAccount } from '../../test/stub-account.ts';

let account: StubAccount;
beforeAll(async () => {
  account = await stubAccount();
});
afterAll(() => account[Symbol.asyncDispose]());

const unknownId = `sbx_${'a'.repeat(24)}`;
/** Every command that uses a service. Those on one sandbox name one that does not exist. */
const onSandbox = [
  ['rm', unknownId],
  ['extend', unknownId],
  ['port', unknownId, '3000'],
  ['port', 'open', unknownId, '3000'],
  ['port', 'ls', unknownId],
  ['port', 'close', unknownId, '3000'],
  ['stats', unknownId],
  ['snapshot', unknownId],
  ['fork', unknownId],
  ['rollback', unknownId, 'snap_1'],
];
const onAccount = [
  ['create'],
  ['ls'],
  ['rm', '--all', '--yes'],
  ['prune'],
  ['snapshots'],
  ['snapshots', 'ls'],
  ['snapshots', 'rm', 'base'],
  ['account'],
  ['usage'],
  ['api', 'GET', '/account'],
];
const all = [...onSandbox, ...onAccount];
const nameOf = (args: readonly string[]) => args.filter((arg) => /^[a-z]+$/.test(arg));

/** Expects one line that says what to do. With --json, the same as JSON. */
async function expectFailure(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  code: number,
  type: string,
  says: RegExp,
) {
  const ran = await mayflyInProcess(args, env);
  expect(ran).toMatchObject({ code, stderr: expect.stringMatching(says) });
  expect(ran.stderr).toMatch(/^error: [^\n]+\n$/);
  if (args[0] !== 'api') expect(ran.stdout).toBe('');
  const json = await mayflyInProcess([...args, '--json'], env);
  expect(json).toMatchObject({ code, stderr: expect.stringMatching(says) });
  expect(JSON.parse(json.stdout)).toMatchObject({ error: { type, message: expect.any(String) } });
}

describe.concurrent.each(all)('mayfly %s %s', (...args) => {
  const given = args.filter((arg) => arg !== undefined);

  test('has help', async () => {
    const { code, stdout, stderr } = await mayflyInProcess([...nameOf(given), '--help'], {});
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain(`Usage: mayfly ${nameOf(given).slice(0, 1).join(' ')}`);
  });

  test('without a key', () =>
    expectFailure(given, {}, 2, 'invalid_command_line', /Set MAYFLY_API_KEY, or run "mayfly login"/));

  test('without a service', async () => {
    const env = { MAYFLY_BASE_URL: 'http://127.0.0.1:1', MAYFLY_API_KEY: 'mf_x' };
    const says = /[^.]\. Check that the service is running, or pass its address with --url\.\n$/;
    await expectFailure(given, env, 3, 'connection_failed', says);
  });

  test('with a wrong key', async () => {
    const env = { ...account.env, MAYFLY_API_KEY: 'mf_wrong' };
    const says = /invalid_api_key, request req_\w+\) Run "mayfly login", or set MAYFLY_API_KEY\.\n$/;
    await expectFailure(given, env, 3, 'invalid_api_key', says);
  });
});

test.each(onSandbox)('mayfly %s %s without such a sandbox', async (...args) => {
  const given = args.filter((arg) => arg !== undefined);
  await expectFailure(given, account.env, 1, 'not_found', new RegExp(`There is no sandbox ${unknownId}. List them`));
});

describe('which sandbox is meant', () => {
  test('its id, its name, or the beginning of its id if that is unambiguous', async () => {
    const { id } = await account.json('create', '--name', 'one');
    for (const text of [id, 'one', id.slice(0, 20), id.slice(4, 20)]) {
      expect(await account.json('stats', text)).toMatchObject({ sandbox_id: id });
    }
    await account.json('create', '--name', 'one');
    expect(await account.run('stats', 'one')).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^error: 2 sandboxes are named "one": sbx_\w+, sbx_\w+\. Use an id\.\n$/),
    });
    await account.run('rm', '--all', '--yes');
  });

  test('nothing, or too little of an id, does not mean the only sandbox', async () => {
    const { id } = await account.json('create', '--name', 'x');
    expect(await account.run('stats', '')).toMatchObject({
      code: 2,
      stderr: 'error: The id or name of the sandbox is empty.\n',
    });
    for (const text of ['sbx_', id.slice(0, 6), id.slice(4, 6)]) {
      expect(await account.run('stats', text)).toEqual({
        code: 1,
        stdout: '',
        stderr: `error: There is no sandbox "${text}". The beginning of an id needs at least 3 characters. List them with: mayfly ls\n`,
      });
    }
    expect(await account.json('stats', id.slice(0, 7))).toMatchObject({ sandbox_id: id });
    expect(await account.json('stats', 'x')).toMatchObject({ sandbox_id: id });
    await account.run('rm', id);
  });

  test('one that has ended is refused with the reason', async () => {
    const { id } = await account.json('create');
    await account.run('rm', id);
    expect(await account.run('stats', id)).toMatchObject({
      code: 3,
      stderr: expect.stringMatching(/was deleted at .* Create a new sandbox\./),
    });
  });
});

describe('account and usage', () => {
  test('are pairs on a terminal, tab-separated when piped, and the same as from the API with --json', async () => {
    const shown = await account.runOnTerminal(['account']);
    expect(shown.stdout).toMatch(/^Account {12}acct_test\nE-mail {13}a@localhost\nService +http\S+\/v1\nBalance +\d+/);
    expect((await account.run('account')).stdout).toMatch(/^Account\tacct_test\nE-mail\ta@localhost\n/);
    expect(await account.json('account')).toEqual(await account.json('api', 'GET', '/account'));
    expect((await account.run('usage', '--days', '7')).stdout).toMatch(/^Period\t7 days\nSpent\t/);
    expect(await account.json('usage')).toMatchObject({ object: 'usage', period_days: 30 });
    expect(await account.run('usage', '--days', 'all')).toMatchObject({ code: 2 });
  });
});

describe('api', () => {
  test('makes any request, with a body from the command line, a file or standard input', async () => {
    const inline = await account.run('api', 'post', '/sandboxes', '--data', '{"name":"inline"}');
    expect(JSON.parse(inline.stdout)).toMatchObject({ object: 'sandbox', name: 'inline' });
    const folder = mkdtempSync(join(tmpdir(), 'mayfly-api-'));
    try {
      writeFileSync(join(folder, 'body.json'), '{"name":"file"}');
      const fromFile = await account.run('api', 'POST', 'sandboxes', '--data', `@${join(folder, 'body.json')}`);
      expect(JSON.parse(fromFile.stdout)).toMatchObject({ name: 'file' });
    } finally {
      rmSync(folder, { recursive: true });
    }
    const args = ['api', 'POST', '/v1/sandboxes', '--data', '-'];
    const piped = await runWith(args, account.env, { stdin: '{"name":"piped"}' });
    expect(JSON.parse(piped.stdout)).toMatchObject({ name: 'piped' });
    const { stdout } = await account.run('api', 'GET', '/sandboxes?limit=1');
    expect(JSON.parse(stdout)).toMatchObject({ data: [{ name: 'piped' }], has_more: true });
  });

  test('prints the error of the service and exits with 3', async () => {
    const { code, stdout, stderr } = await account.run('api', 'GET', `/sandboxes/${unknownId}`);
    expect({ code, stderr }).toEqual({ code: 3, stderr: expect.stringMatching(/^error: .*not_found.*\n$/) });
    expect(JSON.parse(stdout)).toEqual({
      error: { type: 'not_found', message: expect.any(String) },
      request_id: expect.stringMatching(/^req_/),
    });
  });

  test.each([
    [['FETCH', '/account'], 'The method must be one of GET'],
    [['GET', 'https://example.com/v1/account'], 'The service is named by --url'],
    [['POST', '/sandboxes', '--data', '{'], '--data is not JSON'],
    [['POST', '/sandboxes', '--data', '@/nonesuch'], '/nonesuch could not be read'],
  ])('%j is refused', async (args, message) => {
    expect(await account.run('api', ...args)).toMatchObject({ code: 2, stderr: expect.stringContaining(message) });
  });
});

describe('the program', () => {
  test('lists its exit codes', async () => {
    const { stdout } = await mayflyInProcess(['--help']);
    expect(stdout).toMatch(
      /Exit codes: 0 success, 1 failure, 2 invalid .*, 3 the service .*, 125 .*, 130 interrupted/s,
    );
  });

  test('an unknown command, option or argument is one line', async () => {
    expect(await mayflyInProcess(['lss'])).toMatchObject({
      code: 2,
      stdout: '',
      stderr: "error: unknown command 'lss' (Did you mean ls?)\n",
    });
    const json = await mayflyInProcess(['stats', '--json']);
    expect(json).toMatchObject({ code: 2, stderr: "error: missing required argument 'sandbox'\n" });
    expect(JSON.parse(json.stdout)).toEqual({
      error: { type: 'invalid_command_line', message: "missing required argument 'sandbox'" },
      request_id: null,
    });
  });

  test('a reader that closes the pipe early is no error', () => {
    const command = `"${process.execPath}" "${mayflyPath}" completion bash | true; echo "\${PIPESTATUS[0]}"`;
    const { stdout, stderr } = spawnSync('bash', ['-c', command], { encoding: 'utf8' });
    expect({ stdout, stderr }).toEqual({ stdout: '0\n', stderr: '' });
  });
});
