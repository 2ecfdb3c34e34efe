import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { QemuDriver, type QemuDriverOptions } from '#server/machines/qemu/driver.ts';
import { preparedHost } from './prepared.ts';
import { machineProcesses } from './processes.ts';

/** A QEMU driver with a machines folder of its own. */
export interface TestDriver {
  readonly driver: QemuDriver;
  readonly machinesDir: string;
  /** What is left of machines: folders and processes. */
  leftovers(): Promise<string[]>;
  remove(): Promise<void>;
}

/** Makes a driver on the prepared templates. */
export const makeTestDriver = async (more: Partial<QemuDriverOptions> = {}): Promise<TestDriver> => {
  const dataDir = await mkdtemp(join(tmpdir(), 'mayfly-driver-'));
  const machinesDir = join(dataDir, 'machines');
  const log = { debug: () => {}, info: () => {}, warn: console.warn, error: console.error };
  const { engine, templates, tools } = preparedHost();
  const driver = await QemuDriver.open({ engine, templates, tools, dataDir, log, ...more });
  await driver.adopt();
  return {
    driver,
    machinesDir,
    leftovers: async () => [
      ...(await readdir(machinesDir)),
      ...(await machineProcesses(machinesDir)).map((argv) => argv.join(' ')),
    ],
    remove: async () => {
      await driver.close();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
};
