import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Logger, pino } from 'pino';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { StubDriver } from '../../test/core/stub-driver.ts';
import { resultOf, StubConnector } from '../../test/core/stub-guest.ts';
import { hashApiKey } from '../core/accounts/api-keys.ts';
import { openSqliteStore } from '../store/sqlite/open.ts';
import { readConfig } from './config.ts';
import { firstSignInOf } from './run-service.ts';
import { startService } from './service.ts';

const log: Logger = pino({ level: 'silent' });
let folder: string;
let driver: StubDriver;
let connector: StubConnector;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'mayfly-service-'));
  driver = new StubDriver();
  connector = new StubConnector();
});
afterEach(() => rmSync(folder, { recursive: true }));

const config = (more: NodeJS.ProcessEnv = {}) =>
  readConfig({ MAYFLY_DATA_DIR: folder, MAYFLY_PORT: '0', MAYFLY_PREVIEW_PORT: '0', MAYFLY_POOL: 'none', ...more });
const start = (more?: NodeJS.ProcessEnv) =>
  startService({ config: config(more), openDriver: async () => driver, connector, log });
const bearer = (key: string | undefined) => ({ authorization: `Bearer ${key}` });
const asJson = async (response: Response) => (await response.json()) as Record<string, string | null>;

test('the first start creates an account with a working key; later starts keep it and show nothing', async () => {
  const first = await start();
  const key = first.firstAccount?.generatedKey;
  expect(first.firstAccount?.email).toBe('admin@localhost');
  expect(key).toMatch(/^mf_[A-Za-z0-9_-]{43}$/);
  expect((await fetch(`${first.url}/healthz`)).status).toBe(200);
  const headers = bearer(key);
  const created = await fetch(`${first.url}/v1/sandboxes`, { method: 'POST', headers });
  const { id } = await asJson(created);
  expect(created.headers.get('location')).toBe(`${first.url}/v1/sandboxes/${id}`);
  await first.stop();

  const second = await start();
  expect(second.firstAccount).toBeUndefined();
  const kept = await fetch(`${second.url}/v1/sandboxes/${id}`, { headers });
  expect(await asJson(kept)).toMatchObject({ status: 'running', status_reason: null });
  await second.stop();
});

test('the operator’s password signs in to the dashboard, and without one a link that is made for a terminal does', async () => {
  const signIn = async (url: string, path: string, body: object) => {
    const headers = { origin: url };
    const response = await fetch(`${url}/app/api${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    return response.status;
  };
  const withPassword = await start({ MAYFLY_BOOTSTRAP_PASSWORD: 'correct horse battery' });
  expect(await firstSignInOf(withPassword, true)).toBeUndefined();
  const typed = { email: 'admin@localhost', password: 'correct horse battery' };
  expect(await signIn(withPassword.url, '/session', typed)).toBe(201);
  await withPassword.stop();
  const again = await start({ MAYFLY_BOOTSTRAP_PASSWORD: 'another good password' });
  expect(await signIn(again.url, '/session', typed)).toBe(201);
  expect(await firstSignInOf(again, true)).toBeUndefined();
  await again.stop();
  rmSync(folder, { recursive: true });

  const service = await start();
  expect(await firstSignInOf(service, false)).toEqual({
    command: 'npx mayfly admin accounts login-link --email admin@localhost',
  });
  const shown = await firstSignInOf(service, true);
  const link = shown !== undefined && 'link' in shown ? shown.link : '';
  expect(link.startsWith(`${service.url}/sign-in#link=`)).toBe(true);
  expect(await signIn(service.url, '/session/link', { token: link.split('=')[1] })).toBe(201);
  expect(await signIn(service.url, '/session/link', { token: link.split('=')[1] })).toBe(401);
  await service.stop();
});

test('a sandbox outlives the service: the next start adopts it, a stop with destroy ends it', async () => {
  const key = 'chosen-by-operator-0123456789abcdef';
  const headers = bearer(key);
  const first = await start({ MAYFLY_BOOTSTRAP_API_KEY: key });
  const { id } = await asJson(await fetch(`${first.url}/v1/sandboxes`, { method: 'POST', headers }));
  await first.stop();
  expect(driver.newest.destroyed).toBe(false);

  const second = await start();
  const body = JSON.stringify({ command: 'make' });
  const ran = await fetch(`${second.url}/v1/sandboxes/${id}/exec`, { method: 'POST', headers, body });
  expect(await asJson(ran)).toMatchObject({ status: 'completed', stdout: 'ran make\n' });
  await second.stop('destroy');
  expect(driver.newest.destroyed).toBe(true);

  const third = await start();
  const kept = await fetch(`${third.url}/v1/sandboxes/${id}`, { headers });
  expect(await asJson(kept)).toMatchObject({ status: 'deleted', status_reason: 'service_stopped' });
  await third.stop();
});

test('a machine without a record is destroyed at the next start', async () => {
  const stray = await driver.launch({ id: 'sbx_stray', size: 'small' });
  const service = await start();
  expect(stray.destroyed).toBe(true);
  await service.stop();
});

test('a key set by the operator works and is not shown', async () => {
  const service = await start({ MAYFLY_BOOTSTRAP_API_KEY: 'chosen-by-operator-0123456789abcdef' });
  expect(service.firstAccount?.generatedKey).toBeUndefined();
  const answer = await fetch(`${service.url}/v1/sandboxes`, { headers: bearer('chosen-by-operator-0123456789abcdef') });
  expect(answer.status).toBe(200);
  await service.stop();
});

test('what a crash left unfinished is failed at the next start, and its idempotency key is free again', async () => {
  const key = 'chosen-by-operator-0123456789abcdef';
  const headers = { ...bearer(key), 'idempotency-key': 'k' };
  await (await start({ MAYFLY_BOOTSTRAP_API_KEY: key })).stop();
  const store = await openSqliteStore(join(folder, 'mayfly.db'));
  const accountId = (await store.accounts.findByKeyHash(hashApiKey(key)))?.account.id ?? '';
  const fresh = {
    accountId,
    name: null,
    size: 'small',
    timeoutMinutes: 15,
    priceMicroUsdPerHour: 1,
    createdAtMs: Date.now(),
  } as const;
  const admit = () => undefined;
  await store.sandboxes.insert({ ...fresh, id: 'sbx_new', idempotencyKey: 'k' }, admit);
  await store.sandboxes.insert({ ...fresh, id: 'sbx_run', idempotencyKey: null }, admit);
  const provisioning = { id: 'sbx_run', status: 'provisioning', machineId: null, expiresAtMs: null } as const;
  await store.sandboxes.change(provisioning, { status: 'running', readyAtMs: 2, expiresAtMs: Date.now() + 900_000 });
  await store.sandboxes.insert({ ...fresh, id: 'sbx_old', idempotencyKey: null }, admit);
  await store.sandboxes.change({ ...provisioning, id: 'sbx_old' }, { status: 'running', readyAtMs: 2, expiresAtMs: 9 });
  await store.executions.insert({
    id: 'exec_run',
    accountId,
    sandboxId: 'sbx_run',
    startedAtMs: Date.now(),
    isLive: false,
  });
  await store.close();

  const service = await start();
  const get = async (path: string) => asJson(await fetch(`${service.url}/v1/${path}`, { headers }));
  const failed = (why: string) => ({ status: 'failed', status_reason: `${why}: the service was restarted` });
  expect(await get('sandboxes/sbx_new')).toMatchObject(failed('provisioning_failed'));
  expect(await get('sandboxes/sbx_run')).toMatchObject(failed('machine_died'));
  // It expired while the service was down.
  const ended_at = new Date(9).toISOString();
  expect(await get('sandboxes/sbx_old')).toMatchObject({ status: 'deleted', status_reason: 'expired', ended_at });
  expect(await get('executions/exec_run')).toMatchObject({ status: 'failed', exit_code: null });
  expect((await fetch(`${service.url}/v1/sandboxes`, { method: 'POST', headers })).status).toBe(201);
  await service.stop();
});

describe('a stop', () => {
  test('lets a command in flight finish and answers it', async () => {
    const service = await start();
    const headers = bearer(service.firstAccount?.generatedKey);
    const { id } = await asJson(await fetch(`${service.url}/v1/sandboxes`, { method: 'POST', headers }));
    const end = Promise.withResolvers<ReturnType<typeof resultOf>>();
    const begun = Promise.withResolvers<void>();
    connector.command = () => {
      begun.resolve();
      return end.promise;
    };
    const body = JSON.stringify({ command: 'make' });
    const answer = fetch(`${service.url}/v1/sandboxes/${id}/exec`, { method: 'POST', headers, body });
    await begun.promise;
    const stopped = service.stop('destroy');
    await vi.waitFor(() => expect(fetch(`${service.url}/healthz`)).rejects.toThrow('fetch failed'), {
      timeout: 30_000,
    });
    expect(driver.newest.destroyed).toBe(false);
    end.resolve(resultOf({ stdout: Buffer.from('done') }));
    expect(await asJson(await answer)).toMatchObject({ status: 'completed', stdout: 'done' });
    await stopped;
    expect(driver.newest.destroyed).toBe(true);
  });
});

describe('a start that is refused says what to do', () => {
  test('two services on one data folder', async () => {
    const first = await start();
    await expect(start()).rejects.toThrow(
      /Another Mayfly service \(process \d+\) is using the data folder .*MAYFLY_DATA_DIR/,
    );
    await first.stop();
    await (await start()).stop();
  });

  test('a port in use, and the data folder is free again', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => other.once('listening', resolve));
    const address = other.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    await expect(start({ MAYFLY_PORT: String(port) })).rejects.toThrow(
      /is used by another program\. .*set MAYFLY_PORT/,
    );
    other.close();
    await (await start()).stop();
  });

  test('a data folder that cannot be created', async () => {
    await expect(start({ MAYFLY_DATA_DIR: '/proc/mayfly' })).rejects.toThrow(/is not writable .*MAYFLY_DATA_DIR/);
  });
});

test('a database of another data folder is refused and not changed', async () => {
  await (await start()).stop();
  rmSync(join(folder, 'id'));
  await expect(start()).rejects.toThrow(/belongs to another data folder.*MAYFLY_DATA_DIR/);
});
