import { once } from 'node:events';
import { chmod, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createGuestConnector } from '#server/guest/connector.ts';
import { QemuDriver } from '#server/machines/qemu/driver.ts';
import { machineLayout } from '#server/machines/qemu/layout.ts';
import type { QemuMachine } from '#server/machines/qemu/machine.ts';
import { NewerMachineRecord } from '#server/machines/qemu/machine-record.ts';
import { QmpClient } from '#server/machines/qemu/qmp/client.ts';
import type { StepRunner } from '#server/machines/qemu/steps.ts';
import { connectUnix } from '#server/machines/qemu/unix-socket.ts';
import { RpcChild } from '#server-test/network/rpc-child.ts';
import { describeFault, FaultySteps, faultsOf } from '../support/faults.ts';
import { hostState } from '../support/host-state.ts';
import { preparedHost } from '../support/prepared.ts';
import { machineProcesses } from '../support/processes.ts';

let dataDir: string;
let before: string;
let opened: QemuDriver | undefined;
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'mayfly-'));
  before = await hostState();
});
afterEach(async () => {
  await opened?.close();
  // A test that failed half-way may have left a machine.
  if ((await machineProcesses(dataDir)).length > 0) for (const machine of await adopt()) await machine.destroy();
  await opened?.close();
  await rm(dataDir, { recursive: true, force: true });
});

const layoutOf = (id: string) => machineLayout(join(dataDir, 'machines', id));

/** Has another process launch machines and die over them. */
const leaveBehind = async (...names: readonly string[]): Promise<void> => {
  const worker = join(import.meta.dirname, '../support/machines-worker.ts');
  const service = new RpcChild([process.execPath, worker]);
  await service.ask('open', { host: preparedHost(), dataDir, resolvConfPath: '/etc/resolv.conf' });
  for (const name of names) await service.ask('launch', { name });
  await service.kill();
};

const open = async (step?: StepRunner): Promise<QemuDriver> => {
  const { engine, templates, tools } = preparedHost();
  const log = { debug: () => {}, info: () => {}, warn: () => {}, error: console.error };
  opened = await QemuDriver.open({ engine, templates, tools, dataDir, log, ...(step ? { step } : {}) });
  return opened;
};

const adopt = async (step?: StepRunner): Promise<QemuMachine[]> => (await open(step)).adopt();

/** Whether a machine's agent answers. */
const answers = async (machine: QemuMachine): Promise<boolean> => {
  const agent = await createGuestConnector().attach(machine, 30_000);
  const { protocol } = await agent.hello();
  agent.close();
  return protocol === 1;
};

/** After a stop nothing may be left of machines and services. */
const expectNothingLeft = async (): Promise<void> => {
  expect(await machineProcesses(dataDir)).toEqual([]);
  expect(await readdir(join(dataDir, 'machines'))).toEqual([]);
  await opened?.close();
  opened = undefined;
  expect(await hostState()).toBe(before);
};

interface Recorded {
  readonly lease: { readonly slot: number };
  readonly process: { readonly pid: number };
}

const recordOf = async (id: string): Promise<Recorded> =>
  JSON.parse(await readFile(layoutOf(id).recordPath, 'utf8')) as Recorded;

const changeRecord = async (id: string, change: (record: Record<string, unknown>) => unknown): Promise<void> => {
  const { recordPath } = layoutOf(id);
  await writeFile(recordPath, JSON.stringify(change(JSON.parse(await readFile(recordPath, 'utf8')))));
};

it.each([
  ['whose record cannot be read', () => writeFile(layoutOf('one').recordPath, '{')],
  ['whose record names no process', () => changeRecord('one', (record) => ({ ...record, process: undefined }))],
  ['whose agent port is gone', () => rm(layoutOf('one').sockets.data)],
  ['whose monitor is gone', () => rm(layoutOf('one').sockets.qmp)],
  ['whose network has no record', async () => rm(`/run/mayfly/networks/${(await recordOf('one')).lease.slot}.json`)],
] as const)(
  'a living machine %s is ended and leaves nothing; the one beside it is adopted',
  async (_what, spoil) => {
    await leaveBehind('one', 'two');
    await spoil();
    const machines = await adopt();
    expect(machines.map(({ id }) => id)).toEqual(['two']);
    for (const machine of machines) {
      expect(await answers(machine)).toBe(true);
      await machine.destroy();
    }
    await expectNothingLeft();
  },
  120_000,
);

it('a machine whose monitor does not answer is ended once its deadline has passed', async () => {
  await leaveBehind('one');
  process.kill((await recordOf('one')).process.pid, 'SIGSTOP');
  expect(await adopt()).toEqual([]);
  await expectNothingLeft();
}, 120_000);

it('a machine whose adoption fails at any step is ended and leaves nothing', async () => {
  await leaveBehind('one');
  const steps = new FaultySteps();
  const driver = await open(steps.step);
  const passages = await steps.record(async () => {
    for (const machine of await driver.adopt()) machine.leave();
  });
  // What follows clears strays away and makes networks ahead.
  const adopting = passages.slice(0, passages.findIndex(({ name }) => name === 'settle migration') + 1);
  console.log(`adoption passes: ${adopting.map(({ name }) => name).join(', ')}`);
  expect(adopting.map(({ name }) => name)).toEqual([
    'adopt network',
    'serve names',
    'find agent ports',
    'connect monitor',
    'settle migration',
  ]);
  await driver.close();
  for (const fault of faultsOf(adopting)) {
    if ((await machineProcesses(dataDir)).length === 0) await leaveBehind('one');
    steps.arm([fault]);
    expect({ fault: describeFault(fault), machines: await adopt(steps.step) }).toEqual({
      fault: describeFault(fault),
      machines: [],
    });
    expect(steps.armed).toEqual([]);
    await expectNothingLeft();
  }
}, 300_000);

it('a machine that was being saved to somebody slow is adopted with the save cancelled, and answers', async () => {
  await leaveBehind('one');
  const { sockets, folder } = layoutOf('one');
  const qmp = new QmpClient(await connectUnix(sockets.qmp, AbortSignal.timeout(10_000)));
  await qmp.negotiate();
  // Takes the connection and then not a single byte.
  const slow = createServer((socket) => socket.pause()).listen(join(folder, 'slow'));
  await once(slow, 'listening');
  await chmod(join(folder, 'slow'), 0o777);
  await qmp.execute('migrate', { uri: `unix:${join(folder, 'slow')}` });
  await expect.poll(() => qmp.execute('query-migrate'), { timeout: 10_000 }).toMatchObject({ status: 'active' });
  qmp.close();
  const [machine] = await adopt();
  if (!machine) throw new Error('the machine was not adopted');
  expect(await answers(machine)).toBe(true);
  machine.leave();
  const again = new QmpClient(await connectUnix(sockets.qmp, AbortSignal.timeout(10_000)));
  await again.negotiate();
  await expect.poll(() => again.execute('query-migrate'), { timeout: 10_000 }).toMatchObject({ status: 'cancelled' });
  expect(await again.execute('query-status')).toMatchObject({ status: 'running', running: true });
  again.close();
  slow.close();
  await machine.destroy();
  await expectNothingLeft();
}, 120_000);

it('records of an older Mayfly, and fields that a newer one added, are no obstacle', async () => {
  await leaveBehind('one', 'two');
  await changeRecord('one', (record) => ({ ...record, version: undefined }));
  await changeRecord('two', (record) => ({ ...record, added: 'later' }));
  const machines = await adopt();
  expect(machines.map(({ id }) => id).toSorted()).toEqual(['one', 'two']);
  for (const machine of machines) {
    expect(await answers(machine)).toBe(true);
    await machine.destroy();
  }
  await expectNothingLeft();
}, 120_000);

it('a machine of a newer Mayfly keeps the service from starting, and is not touched', async () => {
  await leaveBehind('one');
  await changeRecord('one', (record) => ({ ...record, version: 2 }));
  const refused = await open().catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(NewerMachineRecord);
  expect(await machineProcesses(dataDir)).toHaveLength(1);
  await changeRecord('one', (record) => ({ ...record, version: 1 }));
  const [machine] = await adopt();
  if (!machine) throw new Error('the machine was not adopted');
  expect(await answers(machine)).toBe(true);
  await machine.destroy();
  await expectNothingLeft();
}, 120_000);
