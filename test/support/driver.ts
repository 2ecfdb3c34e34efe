import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { QemuDriver } from '@mayfly/server/machines/qemu/driver.ts';
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
export const makeTestDriver = async (): Promise<TestDriver> => {
  const { engine, templates } = preparedHost();
  const machinesDir = await mkdtemp(join(tmpdir(), 'mayfly-driver-'));
  return {
    driver: new QemuDriver({ engine, templates, machinesDir }),
    machinesDir,
    leftovers: async () => [
      ...(await readdir(machinesDir)),
      ...(await machineProcesses(machinesDir)).map((argv) => argv.join(' ')),
    ],
    remove: async () => {
      await rm(machinesDir, { recursive: true, force: true });
    },
  };
};
