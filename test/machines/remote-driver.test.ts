import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { createGuestConnector } from '#server/guest/connector.ts';
import { DriverServer } from '#server/host-process/driver-server.ts';
import { agentSocketsOf, agentsFolderOf, hostSocketPath, runFolderOf } from '#server/machines/protocol/run-folder.ts';
import { QemuDriver } from '#server/machines/qemu/driver.ts';
import { RemoteDriver } from '#server/machines/remote/remote-driver.ts';
import type { RemoteMachine } from '#server/machines/remote/remote-machine.ts';
import { describeMachineDriver } from '#server-test/machines/driver-suite.ts';
import { killMachine, machineProcesses } from '../support/machine-processes.ts';
import { preparedHost } from '../support/prepared-host.ts';

/** Nobody's group stands in for the service's group. */
const serviceGid = 65_534;
const log = { debug: () => {}, info: () => {}, warn: () => {}, error: console.error };

/** A host process's driver and server in this process, for one data folder of real machines. */
class RemoteHost {
  readonly dataDir: string;
  readonly runDir: string;
  #running: AsyncDisposable | undefined;

  constructor(dataDir: string) {
    this.dataDir = dataDir;
    this.runDir = runFolderOf(dataDir);
  }

  async start(): Promise<void> {
    await using acquired = new AsyncDisposableStack();
    const { engine, templates, tools } = preparedHost();
    const { dataDir, runDir } = this;
    const driver = acquired.use(await QemuDriver.open({ engine, templates, tools, dataDir, serviceGid, log }));
    const diskFreeBytes = async () => Number.POSITIVE_INFINITY;
    acquired.use(
      await DriverServer.listen({ driver, socketPath: hostSocketPath(runDir), serviceGid, log, diskFreeBytes }),
    );
    this.#running = acquired.move();
  }

  async stop(): Promise<void> {
    await this.#running?.[Symbol.asyncDispose]();
    this.#running = undefined;
  }

  async leftovers(): Promise<string[]> {
    const machinesDir = join(this.dataDir, 'machines');
    const processes = await machineProcesses(machinesDir);
    return [
      ...(await readdir(machinesDir)),
      ...(await readdir(agentsFolderOf(this.runDir))),
      ...processes.map((argv) => argv.join(' ')),
    ];
  }
}

let opened: Promise<{ readonly host: RemoteHost; readonly driver: RemoteDriver }> | undefined;
async function open() {
  const host = new RemoteHost(await mkdtemp(join(tmpdir(), 'mayfly-remote-')));
  await host.start();
  const driver = await RemoteDriver.open({ runDir: host.runDir, log });
  await driver.adopt();
  return { host, driver };
}
function shared() {
  opened ??= open();
  return opened;
}
afterAll(async () => {
  const { host, driver } = await shared();
  await driver[Symbol.asyncDispose]();
  await host.stop();
  await rm(host.dataDir, { recursive: true });
});

describeMachineDriver<RemoteMachine>(
  'remote',
  async () => {
    const { driver } = await shared();
    return { launch: (request) => driver.launch(request) as Promise<RemoteMachine> };
  },
  () => createGuestConnector(),
  {
    kill: async (machine) => killMachine((await shared()).host.dataDir, machine.id),
    leftovers: async () => (await shared()).host.leftovers(),
  },
);

it('a machine keeps answering while the host process is away, and one that an earlier Mayfly launched gets its sockets', async () => {
  const { host, driver } = await shared();
  const machine = await driver.launch({ id: 'earlier', size: 'small' });
  const { mode, gid } = await stat(agentSocketsOf(host.runDir, 'earlier').control);
  expect([mode & 0o777, gid]).toEqual([0o660, serviceGid]);
  await host.stop();
  await expect.poll(() => driver.isAvailable()).toBe(false);
  const agent = await createGuestConnector().attach(machine, 120_000);
  const request = { id: 'exec_away', command: 'echo still here', cwd: '/workspace', env: {}, timeoutMs: 60_000 };
  expect(String((await agent.execute({ ...request, captureBytes: 1_000 })).stdout)).toBe('still here\n');
  agent.close();
  await agent.closed;
  // An earlier Mayfly knows nothing of this folder.
  await rm(host.runDir, { recursive: true });
  await host.start();
  await expect.poll(() => driver.isAvailable()).toBe(true);
  const again = await createGuestConnector().attach(machine, 120_000);
  expect((await again.hello()).protocol).toBe(1);
  again.close();
  await machine.destroy();
  expect(await host.leftovers()).toEqual([]);
});
