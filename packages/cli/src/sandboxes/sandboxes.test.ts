import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { runWith } from '../../test/run-with.ts';
import { type StubAccount, stubAccount } from '../../test/stub-account.ts';

let account: StubAccount;
beforeEach(async () => {
  account = await stubAccount();
});
afterEach(() => account[Symbol.asyncDispose]());

const create = async (...args: string[]) => (await account.json('create', ...args)).id;
const minuteMs = 60_000;

describe('create', () => {
  test('prints the id alone when piped, and what it is on a terminal', async () => {
    const piped = await account.run('create', '--name', 'build');
    expect(piped).toEqual({ code: 0, stdout: expect.stringMatching(/^sbx_\w{24}\n$/), stderr: '' });
    const shown = await account.runOnTerminal(['create', '--size', 'large', '--name', 'web', '--lifetime', '30']);
    expect(shown.stdout).toMatch(
      /^Sandbox {2}sbx_\w{24}\nName {5}web\nStatus {3}running\nSize {5}large\nExpires {2}2026-01-01T00:30:00.000Z \(in 30m\)\n$/,
    );
  });

  test('with --json it prints the sandbox as the API does', async () => {
    const created = await account.json('create', '--lifetime', '30');
    expect(created).toMatchObject({ object: 'sandbox', timeout_minutes: 30, resources: { memory_gb: 4 } });
    expect(await account.json('api', 'GET', `/sandboxes/${created.id}`)).toEqual(created);
  });

  test('makes copies of snapshots and templates', async () => {
    await create('--name', 'origin');
    const { id } = await account.json('snapshot', 'origin', '--alias', 'base');
    expect(await account.json('create', '--snapshot', id)).toMatchObject({ snapshot_id: id });
    expect(await account.json('create', '--template', 'base')).toMatchObject({ snapshot_id: id });
  });

  test.each([
    [['--size', 'huge'], 2, 'Allowed choices are small, medium, large'],
    [['--lifetime', 'long'], 2, '--lifetime must be an integer of at least 1'],
    [['--snapshot', 'a', '--template', 'b'], 2, 'exclude each other'],
    [['--lifetime', '99999'], 3, 'timeout_minutes must be an integer'],
    [['--template', 'nonesuch'], 3, 'not_found'],
  ])('%j is refused', async (args, code, message) => {
    const ran = await account.run('create', ...args);
    expect(ran).toEqual({ code, stdout: '', stderr: expect.stringContaining(message) });
    expect(ran.stderr).toMatch(/^error: [^\n]+\n$/);
  });

  test('Ctrl-C ends it with exit code 130 and leaves no sandbox', async () => {
    const arrived = Promise.withResolvers<void>();
    const mayGoOn = Promise.withResolvers<void>();
    account.api.service.driver.beforeLaunched = async () => {
      arrived.resolve();
      await mayGoOn.promise;
    };
    const creating = account.run('create');
    await arrived.promise;
    process.emit('SIGINT');
    mayGoOn.resolve();
    expect(await creating).toEqual({
      code: 130,
      stdout: '',
      stderr: expect.stringMatching(/deleting the sandbox[\s\S]*error: Creation was interrupted\.\n$/),
    });
    await expect.poll(async () => (await account.json('ls')).data).toEqual([]);
  });
});

describe('ls', () => {
  test('is a table on a terminal, tab-separated and exact when piped', async () => {
    const id = await create('--name', 'build');
    const other = await create('--size', 'medium', '--lifetime', '60');
    account.api.service.clock.advanceMs(5 * minuteMs + 1000);
    expect((await account.runOnTerminal(['ls'], { terminalColumns: 200 })).stdout).toBe(
      [
        'ID                            NAME   STATUS   SIZE    AGE  EXPIRES IN',
        `${other}  -      \x1b[32mrunning\x1b[39m  medium  5m   54m`,
        `${id}  build  \x1b[32mrunning\x1b[39m  small   5m   9m`,
        '',
      ].join('\n'),
    );
    expect((await account.run('ls')).stdout).toBe(
      [
        `${other}\t\trunning\tmedium\t2026-01-01T00:00:00.001Z\t2026-01-01T01:00:00.000Z`,
        `${id}\tbuild\trunning\tsmall\t2026-01-01T00:00:00.000Z\t2026-01-01T00:15:00.000Z`,
        '',
      ].join('\n'),
    );
  });

  test('fits the terminal, has no colours with NO_COLOR, and lets no name control the terminal', async () => {
    const id = await create('--name', `a name that is long\x1b[2J ${'and longer '.repeat(5)}`);
    const env = { ...account.env, NO_COLOR: '1' };
    const nowMs = () => account.api.service.clock.nowMs();
    const { stdout } = await runWith(['ls'], env, { terminalColumns: 80, nowMs });
    expect(stdout.split('\n')).toEqual([
      'ID                            NAME               STATUS   SIZE   AGE  EXPIRES IN',
      `${id}  a name that is l…  running  small  0s   15m`,
      '',
    ]);
    const narrow = await runWith(['ls'], env, { terminalColumns: 50, nowMs });
    for (const line of narrow.stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(50);
    const piped = await account.run('ls');
    expect(piped.stdout).toMatch(/^sbx_\w+\ta name that is long\?\[2J and longer/);
  });

  test('--all includes those that have ended', async () => {
    const id = await create();
    await account.run('rm', id);
    expect((await account.json('ls')).data).toEqual([]);
    expect(await account.run('ls')).toEqual({ code: 0, stdout: '', stderr: '' });
    expect((await account.json('ls', '--all')).data).toMatchObject([{ id, status: 'deleted' }]);
    const { stdout } = await account.runOnTerminal(['ls', '--all']);
    expect(stdout).toMatch(/ deleted +small +0s +-\n$/);
  });

  test('--json is the list of the API', async () => {
    await create();
    expect(await account.json('ls')).toEqual(await account.json('api', 'GET', '/sandboxes'));
  });
});

describe('rm', () => {
  test('deletes several sandboxes by whole id or name, and waits until they are gone', async () => {
    const id = await create();
    const web = await create('--name', 'web');
    const ran = await account.run('rm', id, 'web');
    expect(ran).toEqual({ code: 0, stdout: `${id}\n${web}\n`, stderr: '' });
    expect((await account.json('ls')).data).toEqual([]);
    const again = await account.run('rm', id);
    expect(again).toEqual({ code: 0, stdout: `${id}\n`, stderr: `Sandbox ${id} was already deleted.\n` });
  });

  test('a beginning of an id, or an unknown name among others, deletes nothing', async () => {
    const id = await create();
    const short = await account.run('rm', id.slice(0, 12));
    expect(short).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining(`needs the whole id or name of the sandbox. Did you mean ${id}?`),
    });
    const unknown = await account.run('rm', id, 'nonesuch');
    expect(unknown).toMatchObject({ code: 1, stderr: expect.stringContaining('There is no sandbox "nonesuch"') });
    expect((await account.json('ls')).data).toHaveLength(1);
  });

  test('--all needs a confirmation', async () => {
    await create();
    await create();
    const piped = await account.run('rm', '--all');
    expect(piped).toEqual({ code: 2, stdout: '', stderr: expect.stringContaining('Pass --yes.') });
    const refused = await account.runOnTerminal(['rm', '--all'], { answers: ['n'] });
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('Nothing was changed.') });
    expect((await account.json('ls')).data).toHaveLength(2);
    const agreed = await account.runOnTerminal(['rm', '--all'], { answers: ['y'] });
    expect(agreed).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('Delete 2 sandboxes with everything inside?'),
    });
    expect((await account.json('ls')).data).toEqual([]);
    expect(await account.run('rm', '--all', '--yes')).toMatchObject({ code: 0, stdout: '' });
    expect(await account.run('rm')).toMatchObject({ code: 2 });
  });

  test('with --json, one that cannot be deleted is named besides those that were', async () => {
    const [one, busy] = [await create(), await create()];
    const answerOrRefuse = async ({ method = '', url = '', headers }: IncomingMessage, response: ServerResponse) => {
      if (method === 'DELETE' && url.endsWith(busy)) {
        const error = { type: 'invalid_request', message: 'A snapshot is being taken.' };
        return void response.writeHead(400).end(JSON.stringify({ error, request_id: 'req_1' }));
      }
      const authorization = headers.authorization ?? '';
      const answer = await fetch(account.api.url + url, { method, headers: { authorization } });
      response.writeHead(answer.status, { 'content-type': 'application/json' }).end(await answer.text());
    };
    const proxy = createServer((request, response) => void answerOrRefuse(request, response));
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    const { port } = proxy.address() as AddressInfo;
    const ran = await account.run('rm', one, busy, '--json', '--url', `http://127.0.0.1:${port}`);
    proxy.closeAllConnections();
    proxy.close();
    const printed = JSON.parse(ran.stdout) as unknown;
    expect(printed).toMatchObject({
      object: 'list',
      data: [{ id: one }],
      errors: [{ sandbox_id: busy, type: 'invalid_request' }],
    });
    expect(ran).toMatchObject({ code: 3, stderr: expect.stringContaining(`but not ${busy}: `) });
  });

  test('waits for a teardown that goes on in the background, unless --no-wait', async () => {
    await using slow = await stubAccount({}, { teardownMs: 20 });
    const { id } = await slow.json('create');
    const mayGoOn = Promise.withResolvers<void>();
    slow.api.service.driver.newest.beforeDestroyed = () => mayGoOn.promise;
    const { data } = await slow.json('rm', id, '--no-wait');
    expect(data).toMatchObject([{ id, status: 'deleting' }]);
    const waiting = slow.run('rm', id);
    mayGoOn.resolve();
    expect(await waiting).toMatchObject({ code: 0, stdout: `${id}\n` });
    expect((await slow.json('ls', '--all')).data).toMatchObject([{ id, status: 'deleted' }]);
  });
});

describe('prune', () => {
  test('deletes failed sandboxes, and old ones if asked for', async () => {
    const { driver, clock } = account.api.service;
    const failed = await create('--name', 'failed');
    driver.newest.die('qemu was killed');
    await expect.poll(async () => (await account.run('ls')).stdout).toContain('failed\tfailed');
    expect((await account.runOnTerminal(['ls'])).stdout).toContain('failed: machine_died');
    const old = await create('--lifetime', '240');
    clock.advanceMs(120 * minuteMs);
    const young = await create();
    expect((await account.run('prune', '--dry-run')).stdout).toBe(`${failed}\n`);
    const dry = await account.run('prune', '--older-than', '1h', '--dry-run');
    expect(dry.stdout).toBe(`${old}\n${failed}\n`);
    expect(await account.run('prune', '--older-than', '1h')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--yes'),
    });
    const pruned = await account.run('prune', '--older-than', '1h', '--yes');
    expect(pruned).toMatchObject({ code: 0, stdout: dry.stdout });
    expect((await account.json('ls')).data).toMatchObject([{ id: young }]);
    expect(await account.run('prune', '--older-than', 'long')).toMatchObject({ code: 2 });
  });
});

describe('one sandbox', () => {
  test('extend prints the new expiry', async () => {
    const id = await create('--name', 'build');
    expect((await account.run('extend', 'build', '30')).stdout).toBe('2026-01-01T00:45:00.000Z\n');
    expect((await account.runOnTerminal(['extend', id.slice(0, 10)])).stdout).toBe(
      '2026-01-01T01:00:00.000Z (in 60m)\n',
    );
    expect(await account.run('extend', 'build', 'long')).toMatchObject({ code: 2 });
  });

  test('port opens, lists and closes', async () => {
    const id = await create('--name', 'web');
    const { stdout: url } = await account.run('port', 'web', '3000');
    expect(url).toMatch(/^https:\/\/\S+\n$/);
    expect((await account.run('port', 'open', 'web', '3000')).stdout).toBe(url);
    expect((await account.run('port', 'ls', 'web')).stdout).toBe(`3000\t${url}`);
    expect((await account.json('port', 'ls', id)).data).toMatchObject([{ object: 'port', sandbox_id: id, port: 3000 }]);
    expect(await account.json('port', 'close', 'web', '3000')).toEqual({
      object: 'port',
      sandbox_id: id,
      port: 3000,
      deleted: true,
    });
    expect((await account.run('port', 'ls', 'web')).stdout).toBe('');
    expect(await account.run('port', 'web', '70000')).toMatchObject({ code: 2 });
    expect(await account.run('port', 'close', 'web', '3000')).toMatchObject({ code: 3 });
  });

  test('stats shows what it uses', async () => {
    const id = await create();
    const { stdout } = await account.runOnTerminal(['stats', id]);
    expect(stdout).toMatch(/^Sandbox {4}sbx_\w+\nCPU .*\nMemory +400 bytes of 1,000 bytes\n/);
    expect(await account.json('stats', id)).toMatchObject({
      object: 'stats',
      sandbox_id: id,
      memory: { used_bytes: 400 },
    });
  });
});
