import { afterAll } from 'vitest';
import { createGuestConnector } from '#server/guest/connector.ts';
import type { QemuMachine } from '#server/machines/qemu/machine.ts';
import { describeMachineDriver } from '#server-test/machines/driver-suite.ts';
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
