import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { StubConnector } from '../../test/core/stub-guest.ts';
import { HostLab } from '../../test/host-process/host-lab.ts';
import { RemoteDriver } from '../machines/remote/remote-driver.ts';
import { hostCeilings } from '../supervisor/machine-limits.ts';
import { type Config, readConfig } from './config.ts';
import { startService } from './service.ts';

const key = 'chosen-by-operator-0123456789abcdef';
const headers = { authorization: `Bearer ${key}` };

let folder: string;
let events: string[];
const log = pino(
  { messageKey: 'event' },
  { write: (line) => events.push((JSON.parse(line) as { event: string }).event) },
);
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'service-'));
  events = [];
});
afterEach(() => rmSync(folder, { recursive: true }));

/** A service that uses the machines of the lab's host process over its socket. */
function start({ runDir }: HostLab, settings: Readonly<Record<string, string>> = {}) {
  const config = configOf(settings);
  const retryPauses = { firstMs: 5, longestMs: 50 };
  return startService({
    config,
    openDriver: () => RemoteDriver.open({ runDir, log, retryPauses }),
    connector: new StubConnector(),
    log,
  });
}

function configOf(settings: Readonly<Record<string, string>>): Config {
  return readConfig({
    MAYFLY_DATA_DIR: folder,
    MAYFLY_PORT: '0',
    MAYFLY_PREVIEW_PORT: '0',
    MAYFLY_POOL: 'none',
    MAYFLY_MEMORY_RESERVE_MB: '0',
    MAYFLY_DISK_RESERVE_MB: '0',
    MAYFLY_BOOTSTRAP_API_KEY: key,
    ...settings,
  });
}

type Service = Awaited<ReturnType<typeof start>>;
async function call(service: Service, method: string, path: string, body: object = {}) {
  const init = method === 'GET' ? { headers } : { method, headers, body: JSON.stringify(body) };
  const response = await fetch(`${service.url}/v1${path}`, init);
  return { status: response.status, body: (await response.json()) as Record<string, string> };
}

test('a service goes on while its host process is away, and its sandboxes outlive both', async () => {
  await using lab = await HostLab.open();
  const first = await start(lab);
  const { id, status } = (await call(first, 'POST', '/sandboxes')).body;
  const dying = (await call(first, 'POST', '/sandboxes')).body.id;
  expect([status, lab.driver.machines.map((machine) => machine.id)]).toEqual(['running', [id, dying]]);

  await lab.stopHost();
  await expect.poll(async () => (await call(first, 'POST', '/sandboxes')).status).toBe(503);
  expect(await call(first, 'POST', `/sandboxes/${id}/exec`, { command: 'make' })).toMatchObject({
    status: 200,
    body: { stdout: 'ran make\n' },
  });
  lab.driver.machines[1]?.die('killed by SIGKILL');

  await lab.startHost();
  await expect.poll(async () => (await call(first, 'POST', '/sandboxes')).status).toBe(201);
  await expect
    .poll(async () => (await call(first, 'GET', `/sandboxes/${dying}`)).body)
    .toMatchObject({
      status: 'failed',
      status_reason: 'machine_died: the machine ended while its host process was restarting',
    });
  await first.stop();

  const second = await start(lab);
  expect((await call(second, 'GET', `/sandboxes/${id}`)).body.status).toBe('running');
  expect((await call(second, 'DELETE', `/sandboxes/${id}`)).status).toBe(200);
  expect(lab.driver.machines[0]?.destroyed).toBe(true);
  await second.stop('destroy');
  expect(lab.driver.machines.filter(({ destroyed, dead }) => !destroyed && !dead)).toEqual([]);
});

const gibibyte = 1024 ** 3;

test('a shortage of memory that the end of one sandbox relieves ends one sandbox, however old the last measurement is', async () => {
  await using lab = await HostLab.open();
  lab.driver.memoryLeft = 8 * gibibyte;
  const service = await start(lab);
  for (let count = 0; count < 3; count += 1) await call(service, 'POST', '/sandboxes');
  for (const machine of lab.driver.machines) {
    machine.used = { memoryBytes: gibibyte, diskBytes: 0 };
    machine.beforeDestroyed = async () => {
      lab.driver.memoryLeft += gibibyte;
    };
  }
  lab.driver.memoryLeft = 0.1 * gibibyte;
  await expect.poll(() => events).toContain('host_shortage_ended');
  expect(lab.driver.machines.filter(({ destroyed }) => destroyed)).toHaveLength(1);
  await service.stop();
});

test('at the maximum, a machine of the pool makes room for a sandbox although its destruction takes a while', async () => {
  const settings = { MAYFLY_MAX_MACHINES: '1', MAYFLY_POOL: 'small=1' };
  await using lab = await HostLab.open(hostCeilings(configOf(settings)));
  const service = await start(lab, settings);
  await expect.poll(() => service.core.pool.readyCount('small')).toBe(1);
  const released = Promise.withResolvers<void>();
  lab.driver.newest.beforeDestroyed = () => released.promise;
  expect((await call(service, 'POST', '/sandboxes', { size: 'medium' })).status).toBe(201);
  released.resolve();
  await service.stop('destroy');
});

test.each([
  ['has its maximum of machines', { maxMachines: 1 }],
  ['has too little disk left', { diskReserveBytes: 1 }],
])('creates answer 503 capacity_unavailable while the host process %s', async (_name, limits) => {
  await using lab = await HostLab.open(limits);
  const service = await start(lab);
  expect((await call(service, 'POST', '/sandboxes')).status).toBe(201);
  lab.diskFreeBytes = 0;
  const refused = await call(service, 'POST', '/sandboxes');
  expect([refused.status, refused.body.error]).toEqual([
    503,
    {
      type: 'capacity_unavailable',
      message: 'The sandbox could not be provisioned: the host has no room for another machine. Try again.',
    },
  ]);
  await service.stop('destroy');
});
