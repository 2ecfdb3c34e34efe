import { once } from 'node:events';
import { chmod, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createGuestConnector } from '#server/guest/connector.ts';
import { agentsFolderOf, runFolderOf } from '#server/machines/protocol/run-folder.ts';
import { QemuDriver } from '#server/machines/qemu/driver.ts';
import type { QemuMachine } from '#server/machines/qemu/machine.ts';
import { machineLayout, NewerMachineRecord } from '#server/machines/qemu/machine-folder.ts';
import { QmpClient } from '#server/machines/qemu/qmp/qmp-client.ts';
import type { StepRunner } from '#server/machines/qemu/steps.ts';
import { connectUnix } from '#server/system/unix-sockets.ts';
import { RpcChild } from '#server-test/network/rpc.ts';
import { describeFault, FaultySteps, faultsOf } from '../support/fault-injection.ts';
import { hostState, leftSince } from '../support/host-state.ts';
import { machineProcesses } from '../support/machine-processes.ts';
import { preparedHost } from '../support/prepared-host.ts';

let dataDir: string;
let before: string;
let opened: QemuDriver | undefined;
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'mayfly-'));
  before = await hostState();
});
afterEach(async () => {
  await opened?.[Symbol.asyncDispose]();
  // A failed test may have left a machine.
  if ((await machineProcesses(dataDir)).length > 0) for (const machine of await adopt()) await machine.destroy();
  await opened?.[Symbol.asyncDispose]();
  await rm(dataDir, { recursive: true, force: true });
});

function layoutOf(id: string) {
  return machineLayout(join(dataDir, 'machines', id));
}

/** Launches machines in another process and kills it, which leaves them running. */
async function leaveMachines(...names: readonly string[]): Promise<void> {
  const worker = join(import.meta.dirname, '../support/machines-worker.ts');
  const hostProcess = new RpcChild([process.execPath, worker]);
  await hostProcess.ask('open', { host: preparedHost(), dataDir, resolvConfPath: '/etc/resolv.conf' });
  for (const name of names) await hostProcess.ask('launch', { name });
  await hostProcess.kill();
}

/** Launches a machine in this process and lets it go, as a host process that stops does. Quicker than `leaveMachines`. */
async function letMachineGo(name: string): Promise<void> {
  const driver = await open();
  await driver.adopt();
  const machine = await driver.launch({ id: name, size: 'small' });
  machine.detach();
  await driver[Symbol.asyncDispose]();
}

async function open(step?: StepRunner): Promise<QemuDriver> {
  const { engine, templates, tools } = preparedHost();
  const log = { debug: () => {}, info: () => {}, warn: () => {}, error: console.error };
  opened = await QemuDriver.open({ engine, templates, tools, dataDir, log, ...(step ? { step } : {}) });
  return opened;
}

async function adopt(step?: StepRunner): Promise<QemuMachine[]> {
  return (await open(step)).adopt();
}

/** Whether a machine's agent responds. */
async function responds(machine: QemuMachine): Promise<boolean> {
  const agent = await createGuestConnector().attach(machine, 30_000);
  const { protocol } = await agent.hello();
  agent.close();
  return protocol === 1;
}

/** Closes the driver and expects that nothing of its machines is left on the host. */
async function expectNothingLeft(): Promise<void> {
  expect(await machineProcesses(dataDir)).toEqual([]);
  expect(await readdir(join(dataDir, 'machines'))).toEqual([]);
  expect(await readdir(agentsFolderOf(runFolderOf(dataDir)))).toEqual([]);
  await opened?.[Symbol.asyncDispose]();
  opened = undefined;
  expect(await leftSince(before)).toEqual([]);
}

interface MachineRecord {
  readonly lease: { readonly slot: number };
  readonly process: { readonly pid: number };
}

async function recordOf(id: string): Promise<MachineRecord> {
  return JSON.parse(await readFile(layoutOf(id).recordPath, 'utf8')) as MachineRecord;
}

async function changeRecord(id: string, change: (record: Record<string, unknown>) => unknown): Promise<void> {
  const { recordPath } = layoutOf(id);
  await writeFile(recordPath, JSON.stringify(change(JSON.parse(await readFile(recordPath, 'utf8')))));
}

/** How the machines are damaged while nobody watches them, by their name. */
const damages: Readonly<Record<string, (id: string) => Promise<void>>> = {
  'with-a-broken-record': (id) => writeFile(layoutOf(id).recordPath, '{'),
  'without-a-process': (id) => changeRecord(id, (record) => ({ ...record, process: undefined })),
  'without-an-agent-port': (id) => rm(layoutOf(id).sockets.data),
  'without-a-monitor': (id) => rm(layoutOf(id).sockets.qmp),
  'without-a-network-record': async (id) => rm(`/run/mayfly/networks/${(await recordOf(id)).lease.slot}.json`),
  // Its monitor accepts a connection, but does not respond within its deadline.
  stopped: async (id) => void process.kill((await recordOf(id)).process.pid, 'SIGSTOP'),
};

it('machines with a damaged or missing record, port, monitor or network record, or a monitor that does not respond, are destroyed and leave nothing; the machine beside them is adopted', async () => {
  await leaveMachines(...Object.keys(damages), 'intact');
  for (const [id, damage] of Object.entries(damages)) await damage(id);
  const machines = await adopt();
  expect(machines.map(({ id }) => id)).toEqual(['intact']);
  for (const machine of machines) {
    expect(await responds(machine)).toBe(true);
    await machine.destroy();
  }
  await expectNothingLeft();
});

it('a machine whose adoption fails at any step is destroyed and leaves nothing', async () => {
  await leaveMachines('one');
  const steps = new FaultySteps();
  const driver = await open(steps.step);
  const recorded = await steps.record(async () => {
    for (const machine of await driver.adopt()) machine.detach();
  });
  // Excludes the removal of orphans, which runs at the same time, and the networks that are prepared in advance afterwards.
  const adopting = recorded
    .slice(0, recorded.findIndex(({ name }) => name === 'finish migration') + 1)
    .filter(({ name }) => !/^(release|remove|stop) /.test(name));
  console.log(`adoption runs: ${adopting.map(({ name }) => name).join(', ')}`);
  expect(adopting.map(({ name }) => name)).toEqual([
    'adopt network',
    'start dns',
    'find agent ports',
    'connect monitor',
    'share agent sockets',
    'finish migration',
  ]);
  await driver[Symbol.asyncDispose]();
  for (const fault of faultsOf(adopting)) {
    if ((await machineProcesses(dataDir)).length === 0) await letMachineGo('one');
    steps.arm([fault]);
    expect({ fault: describeFault(fault), machines: await adopt(steps.step) }).toEqual({
      fault: describeFault(fault),
      machines: [],
    });
    expect(steps.armed).toEqual([]);
    await expectNothingLeft();
  }
});

it('a machine that was being saved to a slow receiver is adopted, its save is cancelled, and it responds', async () => {
  await leaveMachines('one');
  const { sockets, folder } = layoutOf('one');
  const qmp = new QmpClient(await connectUnix(sockets.qmp, AbortSignal.timeout(10_000)));
  await qmp.negotiate();
  // Accepts the connection but never reads a byte.
  const slow = createServer((socket) => socket.pause()).listen(join(folder, 'slow'));
  await once(slow, 'listening');
  await chmod(join(folder, 'slow'), 0o777);
  await qmp.execute('migrate', { uri: `unix:${join(folder, 'slow')}` });
  await expect.poll(() => qmp.execute('query-migrate')).toMatchObject({ status: 'active' });
  qmp.close();
  const [machine] = await adopt();
  if (!machine) throw new Error('the machine was not adopted');
  expect(await responds(machine)).toBe(true);
  machine.detach();
  const second = new QmpClient(await connectUnix(sockets.qmp, AbortSignal.timeout(10_000)));
  await second.negotiate();
  await expect.poll(() => second.execute('query-migrate')).toMatchObject({ status: 'cancelled' });
  expect(await second.execute('query-status')).toMatchObject({ status: 'running', running: true });
  second.close();
  slow.close();
  await machine.destroy();
  await expectNothingLeft();
});

it('records of an older Mayfly and records with unknown fields are accepted', async () => {
  await leaveMachines('one', 'two');
  await changeRecord('one', (record) => ({ ...record, version: undefined }));
  await changeRecord('two', (record) => ({ ...record, added: 'later' }));
  const machines = await adopt();
  expect(machines.map(({ id }) => id).toSorted()).toEqual(['one', 'two']);
  // From now on the older Mayfly, which does not find the database, refuses to start instead of destroying the machine.
  await changeRecord('one', (record) => {
    expect(record).toMatchObject({ version: 2 });
    return record;
  });
  for (const machine of machines) {
    expect(await responds(machine)).toBe(true);
    await machine.destroy();
  }
  await expectNothingLeft();
});

it('a machine of a newer Mayfly prevents the start and is not touched', async () => {
  await leaveMachines('one');
  await changeRecord('one', (record) => ({ ...record, version: 3 }));
  const refused = await open().catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(NewerMachineRecord);
  expect(await machineProcesses(dataDir)).toHaveLength(1);
  await changeRecord('one', (record) => ({ ...record, version: 1 }));
  const [machine] = await adopt();
  if (!machine) throw new Error('the machine was not adopted');
  expect(await responds(machine)).toBe(true);
  await machine.destroy();
  await expectNothingLeft();
});
