import { chmodSync, constants, copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { adminSocketName } from '@mayfly/contract/admin';
import { openLog, readConfig, type Service, startService } from '@mayfly/server/app';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { StubDriver } from '../../../server/test/core/stub-driver.ts';
import { StubConnector } from '../../../server/test/core/stub-guest.ts';
import { mayfly, mayflyInProcess, mayflyPath, runNode } from '../../test/mayfly.ts';
import { ensureLocalProfile } from '../profiles/local-profile.ts';

// Starting processes takes long on a busy machine.
vi.setConfig({ testTimeout: 60_000 });

const email = 'ada@example.com';
let folder: string;
let service: Service;
beforeEach(async () => {
  // Longer than the kernel's limit for a socket path.
  folder = join(mkdtempSync(join(tmpdir(), 'mayfly-cli-')), 'a-long-folder-name'.repeat(8));
  mkdirSync(folder);
  const config = readConfig({
    MAYFLY_DATA_DIR: folder,
    MAYFLY_PORT: '0',
    MAYFLY_PREVIEW_PORT: '0',
    MAYFLY_LOG_LEVEL: 'silent',
  });
  const openDriver = async () => new StubDriver();
  const log = openLog(config);
  service = await startService({ config, openDriver, connector: new StubConnector(), log, clock: slowClock() });
});
afterEach(async () => {
  await service.stop('destroy');
  rmSync(join(folder, '..'), { recursive: true });
});

/** A clock that advances by a millisecond per reading, so that no rate window ends during a test. */
function slowClock() {
  let nowMs = Date.UTC(2026, 0, 1);
  return { nowMs: () => ++nowMs };
}

/** Runs an admin command with --json and returns the parsed output. */
async function admin(...args: string[]) {
  const { code, stdout, stderr } = await mayflyInProcess(['admin', ...args, '--json'], { MAYFLY_DATA_DIR: folder });
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return JSON.parse(stdout) as Record<string, unknown> & { api_key: string; id: string };
}

/** Runs an admin command without --json. */
const adminText = (...args: string[]) => mayflyInProcess(['admin', ...args, '--data-dir', folder]);

/** Sends an API request with the key of an account. */
async function request(key: string, path: string, method = 'GET') {
  const response = await fetch(`${service.url}/v1${path}`, { method, headers: { authorization: `Bearer ${key}` } });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

describe('without a login', () => {
  const prepare = async (changes: NodeJS.ProcessEnv, isRoot = true) => {
    const env = { HOME: folder, MAYFLY_DATA_DIR: folder, ...changes };
    let notice = '';
    const stderr = { write: (text: string | Uint8Array) => (notice += String(text)) };
    await ensureLocalProfile({ env, stdout: { write: () => true }, stderr }, {}, isRoot);
    return { notice, env };
  };

  test('root uses the service on this host with a key that is made once', async () => {
    const { notice, env } = await prepare({});
    expect(notice).toMatch(
      /^Using the service on this host as admin@localhost: created the API key key_\w+, saved in the profile default\.\n$/,
    );
    expect((await prepare({})).notice).toBe('');
    const account = await mayflyInProcess(['account', '--json'], env);
    expect(account).toMatchObject({ code: 0, stderr: '' });
    expect(JSON.parse(account.stdout)).toMatchObject({ email: 'admin@localhost' });
  });

  test('no key is made for others, for a service that was chosen, or if there is no service', async () => {
    expect((await prepare({}, false)).notice).toBe('');
    expect((await prepare({ MAYFLY_API_KEY: 'mf_x' })).notice).toBe('');
    expect((await prepare({ MAYFLY_BASE_URL: 'http://127.0.0.1:1' })).notice).toBe('');
    expect((await prepare({ MAYFLY_PROFILE: 'work' })).notice).toBe('');
    expect((await prepare({ MAYFLY_DATA_DIR: tmpdir() })).notice).toBe('');
    expect(
      ((await admin('keys', 'list', '--email', 'admin@localhost')) as unknown as { data: unknown[] }).data,
    ).toHaveLength(1);
  });

  test('the key goes to the address that the admin socket names, whatever listens on the usual port', async () => {
    const received: (string | undefined)[] = [];
    const other = createServer((request, response) => {
      received.push(request.headers.authorization);
      response.end('ok');
    });
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const { port } = other.address() as AddressInfo;
    const otherUrl = `http://127.0.0.1:${port}`;
    try {
      const { env } = await prepare({ MAYFLY_PORT: String(port) });
      const saved = JSON.parse(readFileSync(join(folder, '.config/mayfly/config.json'), 'utf8')) as unknown;
      expect(saved).toMatchObject({ profiles: { default: { url: service.url } } });
      expect(await mayflyInProcess(['ls'], env)).toMatchObject({ code: 0 });
      rmSync(join(folder, '.config'), { recursive: true });
      expect((await prepare({ MAYFLY_BASE_URL: otherUrl })).notice).toBe('');
      expect(received).toEqual([]);
    } finally {
      other.close();
    }
  });

  test('an address that was chosen counts if it is the address of the service on this host', async () => {
    const { notice, env } = await prepare({ MAYFLY_BASE_URL: `${service.url}/v1/` });
    expect(notice).toContain('created the API key');
    expect(await mayflyInProcess(['ls'], env)).toMatchObject({ code: 0 });
  });
});

describe('effect on callers', () => {
  test('the key of a new account works immediately and its credit is shown', async () => {
    const created = await admin('accounts', 'create', '--email', email, '--credit', '0.1');
    expect(created).toMatchObject({ object: 'account', email, status: 'active', balance_usd: 0.1 });
    expect((await request(created.api_key, '/account')).body).toMatchObject({ id: created.id, balance_usd: 0.1 });
    await admin('accounts', 'credit', '--email', email, '--usd', '25', '--note', 'invoice 7');
    await admin('accounts', 'credit', '--email', email, '--usd', '-0.000001');
    expect((await request(created.api_key, '/account')).body).toMatchObject({ balance_usd: 25.099999 });
    expect((await request(created.api_key, '/sandboxes', 'POST')).status).toBe(201);
  });

  test('a suspended account is rejected immediately and served again once resumed', async () => {
    const { api_key } = await admin('accounts', 'create', '--email', email);
    await admin('accounts', 'suspend', '--email', email);
    expect(await request(api_key, '/sandboxes')).toMatchObject({
      status: 403,
      body: { error: { type: 'account_suspended' } },
    });
    await admin('accounts', 'resume', '--email', email);
    expect((await request(api_key, '/sandboxes')).status).toBe(200);
  });

  test('an operator ends sandboxes: one, all of an account, or with its suspension', async () => {
    const { api_key } = await admin('accounts', 'create', '--email', email, '--credit', '5');
    const create = async () => String((await request(api_key, '/sandboxes', 'POST')).body.id);
    const ids = [await create(), await create(), await create()];
    expect(await admin('sandboxes', 'list', '--email', email)).toMatchObject({
      data: ids.toReversed().map((id) => ({ id, email, status: 'running' })),
    });
    const [first = ''] = ids;
    const one = await admin('sandboxes', 'destroy', '--sandbox', first);
    expect(one).toMatchObject({ data: [{ id: first, status: 'deleted', status_reason: 'deleted_by_operator' }] });
    const rest = await admin('sandboxes', 'destroy', '--email', email);
    expect(rest.data).toHaveLength(2);
    const last = await create();
    const suspended = await admin('accounts', 'suspend', '--email', email, '--destroy');
    expect(suspended).toMatchObject({ status: 'suspended', destroyed: [{ id: last, status: 'deleted' }] });
    expect(await admin('sandboxes', 'list')).toMatchObject({ data: [] });
    const trail = await admin('audit', '--target', last);
    expect(trail).toMatchObject({ data: [{ action: 'sandboxes.destroy' }, { action: 'createSandbox', email }] });
  });

  test('a revoked key is rejected with a message that says so; other keys still work', async () => {
    const first = await admin('accounts', 'create', '--email', email);
    const second = await admin('keys', 'create', '--email', email);
    expect((await request(second.api_key, '/sandboxes')).status).toBe(200);
    await admin('keys', 'revoke', '--email', email, '--key', second.id);
    expect(await request(second.api_key, '/sandboxes')).toMatchObject({
      status: 401,
      body: { error: { type: 'invalid_api_key', message: expect.stringContaining('revoked') } },
    });
    expect((await request(first.api_key, '/sandboxes')).status).toBe(200);
    expect(await admin('keys', 'list', '--email', email)).toMatchObject({
      data: [{ status: 'active' }, { id: second.id, status: 'revoked' }],
    });
  });

  test('new limits apply to the next request', async () => {
    const { api_key } = await admin('accounts', 'create', '--email', email, '--credit', '5');
    const set = await admin('accounts', 'limits', '--email', email, '--concurrent-sandboxes', '1');
    expect(set).toMatchObject({ limits: { concurrent_sandboxes: 1, api_keys: 10 }, own: { concurrent_sandboxes: 1 } });
    expect((await request(api_key, '/account')).body).toMatchObject({ limits: { concurrent_sandboxes: 1 } });
    expect((await request(api_key, '/sandboxes', 'POST')).status).toBe(201);
    expect(await request(api_key, '/sandboxes', 'POST')).toMatchObject({
      status: 429,
      body: { error: { type: 'quota_exceeded' } },
    });
    const again = await admin('accounts', 'limits', '--email', email, '--reset', '--requests-per-minute', '4');
    expect(again).toMatchObject({ limits: { concurrent_sandboxes: 20 }, own: { requests_per_minute: 4 } });
    expect((await request(api_key, '/sandboxes', 'POST')).status).toBe(201);
    expect(await request(api_key, '/sandboxes')).toMatchObject({
      status: 429,
      body: { error: { type: 'rate_limit_exceeded' } },
    });
  });
});

describe('output', () => {
  test('a new account with its key, which is not shown again', async () => {
    const { code, stdout } = await adminText('accounts', 'create', '--email', email, '--credit', '25');
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^Account {2}acct_\w+\nE-mail {3}ada@example\.com\nBalance {2}25\.00 USD\nAPI key {2}mf_\S{43}\nSave the API key now\./,
    );
    const key = /mf_\S{43}/.exec(stdout)?.[0] ?? '';
    const listed = await adminText('keys', 'list', '--email', email);
    expect(listed.stdout).toMatch(
      /^KEY +PREFIX +NAME +STATUS +CREATED +LAST USED +REVOKED\nkey_\w+ +mf_.{4}… +- +active +\S+Z +- +-\n$/,
    );
    expect(listed.stdout).not.toContain(key);
  });

  test('a link to the dashboard, for somebody who is invited, who lost it or whose password is reset', async () => {
    const link = `${service.url.replaceAll('.', '\\.')}/sign-in#link=[\\w-]{43}\n`;
    const invited = await adminText('accounts', 'invite', '--email', email, '--credit', '5');
    expect(invited.stdout).toMatch(
      new RegExp(
        `^Created the account ${email}\\.\n${link}The link signs in as ${email}\\. It works once, until [^ ]+Z\\.\n$`,
      ),
    );
    for (const command of ['login-link', 'reset-password']) {
      const { stdout } = await adminText('accounts', command, '--email', email);
      expect(stdout).toMatch(new RegExp(`^${link}The link signs in as ${email}`));
    }
    expect(await admin('accounts', 'list', '--email', email)).toMatchObject({ data: [{ balance_usd: 5 }] });
  });

  test('a table of keys with their names', async () => {
    await admin('keys', 'create', '--email', 'admin@localhost', '--name', 'ci <1>');
    const { stdout } = await adminText('keys', 'list', '--email', 'admin@localhost');
    const [head = '', bootstrap = '', named = ''] = stdout.split('\n');
    expect(head).toMatch(/^KEY +PREFIX +NAME +STATUS +CREATED +LAST USED +REVOKED$/);
    expect(bootstrap).toContain(' bootstrap ');
    expect(named).toContain(' ci <1> ');
  });

  test('a table of accounts', async () => {
    await adminText('accounts', 'create', '--email', email, '--credit', '0.5');
    await adminText('accounts', 'suspend', '--email', email);
    const { stdout } = await adminText('accounts', 'list');
    expect(stdout.split('\n').map((line) => line.split(/ {2,}/).slice(0, 3))).toEqual([
      ['E-MAIL', 'STATUS', 'BALANCE'],
      ['admin@localhost', 'active', '100.00 USD'],
      [email, 'suspended', '0.50 USD'],
      [''],
    ]);
    const one = await adminText('accounts', 'list', '--email', email);
    expect(one.stdout).not.toContain('admin@localhost');
  });

  test('tables of sandboxes and of the audit trail', async () => {
    const { api_key } = await admin('accounts', 'create', '--email', email, '--credit', '5');
    const { id } = (await request(api_key, '/sandboxes', 'POST')).body;
    const listed = await adminText('sandboxes', 'list');
    expect(listed.stdout).toMatch(/^SANDBOX +E-MAIL +SIZE +STATUS +CREATED +EXPIRES +NAME\nsbx_\w+ +ada@.+ running /);
    const trail = await adminText('audit', '--email', email);
    expect(trail.stdout.split('\n')[0]).toMatch(/^TIME +ACCOUNT +ACTOR +SOURCE +ACTION +TARGET +RESULT +DETAILS$/);
    expect(trail.stdout).toMatch(
      new RegExp(`ada@example.com +key_\\w+ +127.0.0.1 +createSandbox +${String(id)} +201\\n`),
    );
    expect(trail.stdout).toMatch(/- +operator \S+ +- +accounts.create +ada@example.com +200 +\{.*5.*\}\n$/);
  });

  test('a table of limits', async () => {
    const { stdout } = await adminText('accounts', 'limits', '--email', 'admin@localhost', '--api-keys', '3');
    expect(stdout).toMatch(/^ *api-keys +3 +account$/m);
    const reset = await adminText('accounts', 'limits', '--email', 'admin@localhost', '--api-keys', 'default');
    expect(reset.stdout).toMatch(/^ *api-keys +10 +service$/m);
  });
});

describe('a failed command explains why on one line', () => {
  test.each([
    [['accounts', 'suspend', '--email', 'no@body'], 1, 'no@body'],
    [['accounts', 'create', '--email', 'Admin@localhost'], 1, 'Admin@localhost'],
    [['accounts', 'credit', '--email', 'admin@localhost', '--usd', '-101'], 1, 'admin@localhost'],
    [['accounts', 'limits', '--email', 'admin@localhost', '--max-timeout-minutes', '1441'], 1, '1440'],
    [['keys', 'revoke', '--email', 'admin@localhost', '--key', 'key_nonesuch'], 1, 'key_nonesuch'],
    [['accounts', 'create', '--email', 'nobody'], 2, 'email must be an e-mail address'],
    [['accounts', 'create', '--email', 'a@b', '--credit', '0.0000001'], 2, 'at most 6 decimals'],
    [['accounts', 'limits', '--email', 'admin@localhost', '--api-keys', 'ten'], 2, 'api_keys must be an integer'],
    [['sandboxes', 'destroy'], 2, 'either --sandbox or --email'],
    [['sandboxes', 'destroy', '--sandbox', 'sbx_1', '--email', 'admin@localhost'], 2, 'either --sandbox or --email'],
    [['sandboxes', 'destroy', '--sandbox', 'sbx_1'], 1, 'There is no sandbox sbx_1'],
    [['audit', '--limit', 'all'], 2, 'limit must be an integer'],
    [['audit', '--since', 'yesterday'], 2, 'since must be a date-time'],
    [['accounts', 'create'], 2, "required option '--email <address>'"],
    [['accounts', 'remove'], 2, 'unknown command'],
  ] as const)('%j exits with %d', async (args, code, message) => {
    const ran = await mayflyInProcess(['admin', ...args], { MAYFLY_DATA_DIR: folder });
    expect(ran).toMatchObject({ code, stdout: '' });
    expect(ran.stderr).toMatch(/^error: [^\n]+\n$/);
    expect(ran.stderr).toContain(message);
  });

  test('too many keys', async () => {
    for (let made = 1; made < 10; made++)
      await service.core.store.accounts.addKey(await accountId(), keyOf(made), 1, 10);
    const ran = await adminText('keys', 'create', '--email', 'admin@localhost');
    expect(ran).toMatchObject({ code: 1, stdout: '' });
    expect(ran.stderr).toMatch(/^error: .*admin@localhost.* 10 active.*\.\n$/);
  });

  test('no service is running', async () => {
    const elsewhere = join(folder, 'elsewhere');
    const ran = await mayflyInProcess(['admin', 'accounts', 'list', '--data-dir', elsewhere]);
    expect(ran).toMatchObject({ code: 1, stdout: '' });
    expect(ran.stderr).toContain(
      `error: No Mayfly service is running with the data folder ${elsewhere}. Start it with npm start`,
    );
    await service.stop();
    const stopped = await adminText('accounts', 'list');
    expect(stopped.stderr).toContain(`No Mayfly service is running with the data folder ${folder}.`);
  });

  test('the user is not root', async () => {
    const isRoot = process.getuid?.() === 0;
    // Here the service's user is this one, and the command cannot become another.
    if (!isRoot) chmodSync(join(folder, adminSocketName), 0);
    const run = new URL('../program.ts', import.meta.url).href;
    const program = `const { run } = await import('${run}');
      if (${isRoot}) process.seteuid(65534);
      process.exitCode = await run(['admin', 'accounts', 'list', '--data-dir', process.argv[1]], process);`;
    const ran = await runNode(['--input-type=module', '--eval', program, folder]);
    expect(ran).toMatchObject({ code: 1, stdout: '' });
    expect(ran.stderr).toContain(`only root can administer the service with the data folder ${folder}`);
  });
});

test('help is printed for every level', async () => {
  expect(await mayfly(['--help'])).toMatchObject({ code: 0, stdout: expect.stringContaining('admin'), stderr: '' });
  const { stdout } = await mayflyInProcess(['admin', 'accounts', 'credit', '--help']);
  for (const option of ['--email', '--usd', '--note', '--json', '--data-dir']) expect(stdout).toContain(option);
});

test('another Node.js runs the command with the project’s own and exits with its code', async () => {
  const other = join(folder, 'node');
  copyFileSync(process.execPath, other, constants.COPYFILE_FICLONE);
  const listed = await runNode([mayflyPath, 'admin', 'accounts', 'list'], { MAYFLY_DATA_DIR: folder }, other);
  expect(listed).toMatchObject({ code: 0, stdout: expect.stringContaining('admin@localhost'), stderr: '' });
  expect(await runNode([mayflyPath, 'admin', 'nonsense'], {}, other)).toMatchObject({ code: 2, stdout: '' });
});

const accountId = async () => (await service.core.store.accounts.findByEmail('admin@localhost'))?.id ?? '';
const keyOf = (number: number) => ({ id: `key_${number}`, hash: `hash ${number}`, prefix: 'mf_' });
