import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type StubAccount, stubAccount } from '../../test/stub-account.ts';

let account: StubAccount;
let sandbox: string;
beforeEach(async () => {
  account = await stubAccount();
  sandbox = (await account.json('create', '--name', 'build')).id;
});
afterEach(() => account[Symbol.asyncDispose]());

describe('snapshots', () => {
  test('are taken, listed and deleted', async () => {
    const { stdout } = await account.run('snapshot', 'build', '--name', 'first');
    expect(stdout).toMatch(/^snap_\w+\n$/);
    const id = stdout.trim();
    const shown = await account.runOnTerminal(['snapshot', 'build', '--alias', 'base']);
    expect(shown.stdout).toMatch(/^Snapshot {2}snap_\w+\nAlias {5}base\nSize {6}small\nStored {4}4 KiB\n$/);
    const table = await account.runOnTerminal(['snapshots']);
    expect(table.stdout).toMatch(
      /^ID +ALIAS +NAME +STATUS +SIZE +STORED +AGE\nsnap_\w+ +base +- +ready +small +4 KiB +0s\nsnap_\w+ +- +first +/,
    );
    const piped = (await account.run('snapshots', 'ls')).stdout.split('\n');
    expect(piped[1]).toMatch(new RegExp(`^${id}\\t\\tfirst\\tready\\tsmall\\t4096\\t2026-01-01T`));
    expect(await account.json('snapshots')).toEqual(await account.json('api', 'GET', 'v1/snapshots'));
    expect(await account.run('snapshots', 'rm', id, 'nonesuch')).toMatchObject({
      code: 1,
      stderr: 'error: There is no snapshot "nonesuch". List them with: mayfly snapshots\n',
    });
    const deleted = await account.json('snapshots', 'rm', id, 'base');
    expect(deleted.data).toMatchObject([{ object: 'snapshot', id, deleted: true }, { deleted: true }]);
    expect(await account.run('snapshots')).toEqual({ code: 0, stdout: '', stderr: '' });
  });

  test('Ctrl-C while one is taken leaves none', async () => {
    const arrived = Promise.withResolvers<void>();
    const mayGoOn = Promise.withResolvers<void>();
    account.api.service.driver.newest.beforeSaved = async () => {
      arrived.resolve();
      await mayGoOn.promise;
    };
    const saving = account.run('snapshot', 'build');
    await arrived.promise;
    process.emit('SIGINT');
    mayGoOn.resolve();
    expect(await saving).toMatchObject({ code: 130, stdout: '' });
    expect((await account.json('snapshots')).data).toEqual([]);
  });

  test('a sandbox is rolled back to one of them', async () => {
    await account.run('snapshot', 'build', '--alias', 'base');
    expect(await account.run('rollback', 'build', 'base')).toEqual({ code: 0, stdout: `${sandbox}\n`, stderr: '' });
    expect(await account.json('rollback', 'build', 'base')).toMatchObject({ id: sandbox, status: 'running' });
    expect(await account.run('rollback', 'build', 'nonesuch')).toMatchObject({ code: 1, stdout: '' });
  });

  test('a rollback, which destroys, does not take the beginning of an id', async () => {
    await account.run('snapshot', 'build', '--alias', 'base');
    expect(await account.run('rollback', sandbox.slice(0, 20), 'base')).toEqual({
      code: 1,
      stdout: '',
      stderr: `error: This command needs the whole id or name of the sandbox. Did you mean ${sandbox}?\n`,
    });
  });
});

describe('fork', () => {
  test('prints the ids of the copies', async () => {
    const { stdout } = await account.run('fork', 'build', '--count', '2', '--name', 'copy', '--lifetime', '30');
    expect(stdout).toMatch(/^(sbx_\w{24}\n){2}$/);
    expect((await account.json('ls')).data).toHaveLength(3);
    const forked = await account.json('fork', 'build');
    expect(forked.data).toMatchObject([{ object: 'fork_result', sandbox: { status: 'running' }, error: null }]);
    expect((await account.runOnTerminal(['fork', 'build'])).stdout).toMatch(/^ID +NAME/);
  });

  test('copies that cannot be made are told of, and the others stay', async () => {
    await using small = await stubAccount({ MAYFLY_LIMIT_CONCURRENT_SANDBOXES: '2' });
    await small.json('create', '--name', 'one');
    const { code, stdout, stderr } = await small.run('fork', 'one', '--count', '2', '--json');
    expect({ code, stderr }).toEqual({ code: 3, stderr: expect.stringMatching(/^error: 1 of 2 copies could not/) });
    expect(JSON.parse(stdout)).toMatchObject({ data: [{ error: null }, { error: { type: 'quota_exceeded' } }] });
    expect((await small.json('ls')).data).toHaveLength(2);
    expect(await small.run('fork', 'one')).toMatchObject({ code: 3, stdout: '' });
  });
});
