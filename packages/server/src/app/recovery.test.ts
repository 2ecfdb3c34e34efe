import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Logger, pino } from 'pino';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { storeSnapshot } from '../../test/app/stored-snapshot.ts';
import { StubDriver } from '../../test/core/stub-driver.ts';
import { resultOf, StubConnector } from '../../test/core/stub-guest.ts';
import { GuestUnreachable } from '../core/ports/guest-agent.ts';
import { readConfig } from './config.ts';
import { type Service, startService } from './service.ts';

const log: Logger = pino({ level: 'silent' });
const key = 'chosen-by-operator-0123456789abcdef';
const headers = { authorization: `Bearer ${key}` };
let folder: string;
let driver: StubDriver;
let connector: StubConnector;
let service: Service;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'mayfly-recovery-'));
  driver = new StubDriver();
  connector = new StubConnector();
  service = await start();
});
afterEach(async () => {
  await service.stop('destroy');
  rmSync(folder, { recursive: true });
});

const start = (settings: NodeJS.ProcessEnv = {}): Promise<Service> => {
  const config = readConfig({
    MAYFLY_DATA_DIR: folder,
    MAYFLY_PORT: '0',
    MAYFLY_PREVIEW_PORT: '0',
    MAYFLY_BOOTSTRAP_API_KEY: key,
    ...settings,
  });
  return startService({ config, openDriver: async () => driver, connector, log });
};
const call = async (method: string, path: string, body?: object) => {
  const sent = body === undefined ? {} : { body: JSON.stringify(body) };
  const response = await fetch(`${service.url}/v1${path}`, { method, headers, ...sent });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
};
const poolFull = async () => {
  await expect.poll(() => service.core.pool.readyCount('small')).toBe(1);
};
/** Creates a sandbox and waits until the pool is full again. */
const create = async () => {
  const { id } = (await call('POST', '/sandboxes')).body;
  await poolFull();
  return String(id);
};

test('the pool is filled at start; a create claims its machine, and the pool replaces it', async () => {
  await poolFull();
  const pooled = driver.newest;
  expect([pooled.id, pooled.paused]).toEqual([expect.stringMatching(/^pool_/), true]);
  const id = await create();
  expect(pooled.paused).toBe(false);
  expect(connector.identities.map(({ hostname }) => hostname)).toContain(id.replace('_', '-'));
  await poolFull();
  expect(driver.machines).toHaveLength(2);
});

test('a pooled machine that cannot be resumed does not fail the create', async () => {
  await poolFull();
  driver.newest.resumeError = new Error('the monitor is gone');
  expect((await call('POST', '/sandboxes')).status).toBe(201);
});

test('a sandbox on a pooled machine is adopted after a restart; machines in the pool are not', async () => {
  await poolFull();
  const id = await create();
  await service.stop();
  service = await start();
  expect((await call('GET', `/sandboxes/${id}`)).body.status).toBe('running');
  expect((await call('POST', `/sandboxes/${id}/exec`, { command: 'ls' })).status).toBe(200);
});

test('a command that ran during a restart ends completed, with its whole output', async () => {
  const id = await create();
  const started = Promise.withResolvers<void>();
  connector.command = () => {
    started.resolve();
    return new Promise(() => {});
  };
  const exec = call('POST', `/sandboxes/${id}/exec`, { command: 'long' }).catch(() => undefined);
  await started.promise;
  service.core.machines.detachAll();
  await exec;
  await service.stop();
  connector.resumed = async () => resultOf({ stdout: Buffer.from('all of it\n') });
  service = await start();
  const list = (await call('GET', `/sandboxes/${id}/executions`)).body as { data: { id: string }[] };
  const ended = async () => (await call('GET', `/executions/${list.data[0]?.id}`)).body;
  await expect.poll(async () => (await ended()).status).toBe('completed');
  expect(await ended()).toMatchObject({ stdout: 'all of it\n', exit_code: 0 });
  await expect.poll(() => connector.forgotten).toContain(list.data[0]?.id);
});

test('a command whose result is being collected when the service stops again ends completed after the next start', async () => {
  const id = await create();
  connector.command = () => new Promise(() => {});
  void call('POST', `/sandboxes/${id}/exec`, { command: 'long' }).catch(() => undefined);
  const running = async () => (await service.core.store.executions.running()).length;
  await expect.poll(running).toBe(1);
  service.core.machines.detachAll();
  await service.stop();
  const collecting = Promise.withResolvers<void>();
  connector.resumed = () => {
    collecting.resolve();
    return new Promise(() => {});
  };
  service = await start();
  await collecting.promise;
  await service.stop();
  connector.resumed = async () => resultOf({ stdout: Buffer.from('all of it\n') });
  service = await start();
  await expect.poll(running).toBe(0);
  const { data } = (await call('GET', `/sandboxes/${id}/executions`)).body as { data: { status: string }[] };
  expect(data.map(({ status }) => status)).toEqual(['completed']);
});

test('a command that its machine no longer knows ends failed', async () => {
  const id = await create();
  connector.command = () => new Promise(() => {});
  void call('POST', `/sandboxes/${id}/exec`, { command: 'long' }).catch(() => undefined);
  await expect.poll(async () => (await service.core.store.executions.running()).length).toBe(1);
  service.core.machines.detachAll();
  await service.stop();
  service = await start();
  await expect.poll(async () => (await service.core.store.executions.running()).length).toBe(0);
});

test('a connection lost during a command is replaced and the result collected', async () => {
  const id = await create();
  connector.command = async () => {
    connector.resumed = async () => resultOf({ stdout: Buffer.from('collected\n') });
    connector.disconnect();
    return await new Promise<never>(() => {});
  };
  const { status, body } = await call('POST', `/sandboxes/${id}/exec`, { command: 'long' });
  expect([status, body.stdout]).toEqual([200, 'collected\n']);
});

test('an extension that did not reach its machine is sent again after a restart', async () => {
  const id = await create();
  connector.attachError = new GuestUnreachable('no answer');
  connector.disconnect();
  const extended = await call('POST', `/sandboxes/${id}/extend`, { additional_minutes: 30 });
  expect([extended.status, connector.expiries]).toEqual([200, []]);
  await service.stop();
  connector.attachError = undefined;
  service = await start();
  await expect.poll(() => connector.expiries).toEqual([Date.parse(String(extended.body.expires_at))]);
});

test('a machine that cannot be destroyed is retried until it can', async () => {
  const id = await create();
  const machine = driver.machines.find((made) => !made.paused);
  let attempts = 0;
  if (machine) {
    machine.beforeDestroyed = async () => {
      attempts += 1;
      if (attempts < 3) throw new Error('busy');
    };
  }
  expect((await call('DELETE', `/sandboxes/${id}`)).status).toBe(202);
  await expect.poll(async () => (await call('GET', `/sandboxes/${id}`)).body.status).toBe('deleted');
  expect(attempts).toBe(3);
});

describe('a crash during a rollback', () => {
  const machineOf = (id: string) => service.core.machines.find(id)?.machine;

  test('after the swap was stored: the new machine is adopted, and the old one is destroyed', async () => {
    const id = await create();
    const old = machineOf(id);
    const stored = await storeSnapshot({ core: service.core, driver }, id);
    const gone = Promise.withResolvers<void>();
    const stuck = driver.machines.find((machine) => machine === old);
    if (stuck) stuck.beforeDestroyed = () => gone.promise;
    expect((await call('POST', `/sandboxes/${id}/rollback`, { snapshot_id: stored })).status).toBe(200);
    const next = machineOf(id);
    gone.reject(new Error('the process that asked for it is gone'));
    await service.stop();
    if (stuck) stuck.beforeDestroyed = async () => {};
    service = await start();
    expect(machineOf(id)?.id).toBe(next?.id);
    expect((await call('GET', `/sandboxes/${id}`)).body.status).toBe('running');
    expect((await call('POST', `/sandboxes/${id}/exec`, { command: 'ls' })).status).toBe(200);
    await expect.poll(() => stuck?.destroyed).toBe(true);
  });

  test('before the swap was stored: the sandbox goes on as it was, and the new machine is destroyed', async () => {
    const id = await create();
    const old = machineOf(id)?.id;
    await service.stop();
    const half = await driver.launch({ id: 'roll_half', size: 'small' });
    service = await start();
    expect([machineOf(id)?.id, half.destroyed]).toEqual([old, true]);
    expect((await call('GET', `/sandboxes/${id}`)).body.status).toBe('running');
  });

  test('a stop during the launch leaves the sandbox with one machine, which is adopted', async () => {
    const id = await create();
    const old = machineOf(id)?.id;
    const stored = await storeSnapshot({ core: service.core, driver }, id);
    const launching = Promise.withResolvers<void>();
    const launched = Promise.withResolvers<void>();
    driver.beforeLaunched = async ({ id: machineId }) => {
      if (!machineId.startsWith('roll_')) return;
      launching.resolve();
      await launched.promise;
    };
    const answer = call('POST', `/sandboxes/${id}/rollback`, { snapshot_id: stored }).catch(() => undefined);
    await launching.promise;
    service.core.machines.detachAll();
    launched.resolve();
    await answer;
    await service.stop();
    service = await start();
    const served = machineOf(id)?.id;
    expect((await call('GET', `/sandboxes/${id}`)).body.status).toBe('running');
    const left = driver.machines.filter(({ destroyed, paused }) => !destroyed && !paused);
    expect(left.map((machine) => machine.id)).toEqual([served]);
    expect([old, expect.stringMatching(/^roll_/)]).toContainEqual(served);
  });
});

test('a template in the pool: its copies are claimed, and an alias that moves replaces them', async () => {
  const id = await create();
  await service.stop();
  service = await start({ MAYFLY_POOL: 'template:web=1' });
  const first = await storeSnapshot({ core: service.core, driver }, id, { alias: 'web' });
  await service.core.pool.refreshTemplates();
  await poolFull();
  expect((await call('POST', '/sandboxes', { template: 'web' })).body.snapshot_id).toBe(first);
  await poolFull();
  await service.core.store.snapshots.remove(first, Date.now());
  const second = await storeSnapshot({ core: service.core, driver }, id, { alias: 'web' });
  await service.core.pool.refreshTemplates();
  await poolFull();
  await expect.poll(() => driver.machines.filter(({ paused, destroyed }) => paused && !destroyed).length).toBe(1);
  const pooled = driver.machines.find(({ paused, destroyed }) => paused && !destroyed);
  expect(pooled?.snapshotId).toBe(second);
  expect((await call('POST', '/sandboxes', { template: 'web' })).status).toBe(201);
  expect(pooled?.paused).toBe(false);
});
