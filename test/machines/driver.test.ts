import { createGuestConnector } from '@mayfly/server/guest/connector.ts';
import { describeMachineDriver } from '@mayfly/server/machines/driver-suite.ts';
import type { QemuMachine } from '@mayfly/server/machines/qemu/machine.ts';
import { afterAll } from 'vitest';
import { makeTestDriver, type TestDriver } from '../support/driver.ts';

let host: TestDriver | undefined;
const made = async (): Promise<TestDriver> => {
  host ??= await makeTestDriver();
  return host;
};
afterAll(async () => {
  await host?.remove();
});

describeMachineDriver<QemuMachine>(
  'QEMU',
  async () => (await made()).driver,
  () => createGuestConnector(),
  {
    kill: (machine) => {
      process.kill(machine.pid, 'SIGKILL');
    },
    leftovers: async () => (await made()).leftovers(),
  },
);
