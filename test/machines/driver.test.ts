import { afterAll } from 'vitest';
import { createGuestConnector } from '#server/guest/connector.ts';
import type { QemuMachine } from '#server/machines/qemu/machine.ts';
import { describeMachineDriver } from '#server-test/machines/driver-suite.ts';
import { createTestDriver, type TestDriver } from '../support/test-driver.ts';

let host: TestDriver | undefined;
async function sharedHost(): Promise<TestDriver> {
  host ??= await createTestDriver();
  return host;
}
afterAll(async () => {
  await host?.remove();
});

describeMachineDriver<QemuMachine>(
  'QEMU',
  async () => (await sharedHost()).driver,
  () => createGuestConnector(),
  {
    kill: (machine) => {
      process.kill(machine.pid, 'SIGKILL');
    },
    leftovers: async () => (await sharedHost()).leftovers(),
  },
);
