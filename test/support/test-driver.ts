import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { QemuDriver, type QemuDriverOptions } from '#server/machines/qemu/driver.ts';
import type { QemuMachine } from '#server/machines/qemu/machine.ts';
import { keepConsoles } from './diagnosis/consoles.ts';
import { recordDataFolder } from './diagnosis/suite-record.ts';
import { machineProcesses } from './machine-processes.ts';
import { preparedHost } from './prepared-host.ts';

/** A QEMU driver with its own data folder. */
export interface TestDriver {
  readonly driver: QemuDriver;
  /** Closes the driver and opens it again with the same data folder. Returns the machines that it adopted. */
  reopen(): Promise<readonly QemuMachine[]>;
  readonly machinesDir: string;
  /** The folders and processes of machines that still exist. */
  leftovers(): Promise<string[]>;
  remove(): Promise<void>;
}

/** Creates a driver that uses the prepared templates. */
export async function createTestDriver(overrides: Partial<QemuDriverOptions> = {}): Promise<TestDriver> {
  const dataDir = await mkdtemp(join(tmpdir(), 'mayfly-driver-'));
  recordDataFolder(dataDir);
  const machinesDir = join(dataDir, 'machines');
  const log = { debug: () => {}, info: () => {}, warn: console.warn, error: console.error };
  const { engine, templates, tools } = preparedHost();
  const open = () => QemuDriver.open({ engine, templates, tools, dataDir, log, ...overrides });
  let driver = await open();
  await driver.adopt();
  return {
    get driver() {
      return driver;
    },
    reopen: async () => {
      await driver[Symbol.asyncDispose]();
      driver = await open();
      return await driver.adopt();
    },
    machinesDir,
    leftovers: async () => [
      ...(await readdir(machinesDir)),
      ...(await machineProcesses(machinesDir)).map((argv) => argv.join(' ')),
    ],
    remove: async () => {
      keepConsoles(dataDir);
      await driver[Symbol.asyncDispose]();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}
