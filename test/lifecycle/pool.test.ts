import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { createSandbox, exec } from '../support/http.ts';
import { roomyWindows, startTestService, type TestService } from '../support/service.ts';

const count = 20;
let service: TestService;
beforeAll(async () => {
  service = await startTestService({ ...roomyWindows, MAYFLY_POOL: 'small=1' });
});
afterAll(() => service.stop());

const poolIsFull = async (): Promise<void> => {
  await expect.poll(() => service.core.pool.readyCount('small'), { timeout: 60_000, interval: 100 }).toBe(1);
};

it('twenty creates at once with a pool of one all succeed, and no machine is made that nobody asked for', async () => {
  await poolIsFull();
  const launch = vi.spyOn(service.core.driver, 'launch');
  const startedMs = performance.now();
  const sandboxes = await Promise.all(Array.from({ length: count }, () => createSandbox(service)));
  console.log(`${count} creates at once took ${Math.round(performance.now() - startedMs)} ms`);
  await poolIsFull();
  // The pool's machine was taken and replaced, so what was made is what was asked for.
  expect(launch).toHaveBeenCalledTimes(count);
  expect(await service.machineProcesses()).toHaveLength(count + 1);

  const records = await Promise.all(sandboxes.map(({ id }) => service.core.store.sandboxes.read(id)));
  expect(new Set(records.map((record) => record?.machineId)).size).toBe(count);
  const names = await Promise.all(sandboxes.map(({ id }) => exec(service, id, 'hostname; cat /etc/machine-id')));
  expect(new Set(names.map(({ stdout }) => stdout)).size).toBe(count);
  expect(names.map(({ stdout }) => stdout.split('\n')[0])).toEqual(sandboxes.map(({ id }) => id.replaceAll('_', '-')));
}, 300_000);
