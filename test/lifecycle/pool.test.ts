import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { createSandbox, exec } from '../support/api-requests.ts';
import { length } from '../support/length.ts';
import { unlimitedRates } from '../support/service-settings.ts';
import { startTestService, type TestService } from '../support/test-service.ts';

const count = length(8, 20);
let service: TestService;
beforeAll(async () => {
  service = await startTestService({ ...unlimitedRates, MAYFLY_POOL: 'small=1' });
});
afterAll(() => service.stop());

async function waitForFullPool(): Promise<void> {
  await expect.poll(() => service.core.pool.readyCount('small'), { interval: 100 }).toBe(1);
}

it('concurrent creates with a pool of one all succeed, and no extra machine is launched', async () => {
  await waitForFullPool();
  const launch = vi.spyOn(service.driver, 'launch');
  const startedMs = performance.now();
  const sandboxes = await Promise.all(Array.from({ length: count }, () => createSandbox(service)));
  console.log(`${count} concurrent creates took ${Math.round(performance.now() - startedMs)} ms`);
  await waitForFullPool();
  // One machine came from the pool and was replaced, so there is one launch per create.
  expect(launch).toHaveBeenCalledTimes(count);
  expect(await service.machineProcesses()).toHaveLength(count + 1);

  const records = await Promise.all(sandboxes.map(({ id }) => service.core.store.sandboxes.read(id)));
  expect(new Set(records.map((record) => record?.machineId)).size).toBe(count);
  const names = await Promise.all(sandboxes.map(({ id }) => exec(service, id, 'hostname; cat /etc/machine-id')));
  expect(new Set(names.map(({ stdout }) => stdout)).size).toBe(count);
  expect(names.map(({ stdout }) => stdout.split('\n')[0])).toEqual(sandboxes.map(({ id }) => id.replaceAll('_', '-')));
});
