import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { createSandbox, deleteSandbox, output } from '../support/api-requests.ts';
import { unlimitedRates } from '../support/service-settings.ts';
import { deleteSnapshot, takeSnapshot } from '../support/snapshots.ts';
import { startTestService, type TestService } from '../support/test-service.ts';
import { askWitness, startWitness } from '../support/witness.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService({ ...unlimitedRates, MAYFLY_POOL: 'template:prepared=1' });
});
afterAll(() => service?.stop());

const ready = () => service.core.pool.readyCount('small');

it('a prepared environment waits in the pool, is claimed with everything that ran in it, and goes with its snapshot', async () => {
  const original = await createSandbox(service);
  await startWitness(service, original.id);
  const snapshot = await takeSnapshot(service, original.id, { alias: 'prepared' });
  await deleteSandbox(service, original.id);
  await expect.poll(ready).toBe(1);
  const launch = vi.spyOn(service.driver, 'launch');
  const copy = await createSandbox(service, { template: 'prepared' });
  const record = await service.core.store.sandboxes.read(copy.id);
  expect(record?.machineId).toMatch(/^pool_/);
  expect(await askWitness(service, copy.id, 'state')).toMatchObject({ ballast_intact: true });
  expect(await output(service, copy.id, 'hostname')).toBe(copy.id.replaceAll('_', '-'));
  await expect.poll(ready).toBe(1);
  expect(launch.mock.calls.map(([request]) => request.snapshotId)).toEqual([snapshot.id]);
  await deleteSnapshot(service, snapshot.id);
  await expect.poll(async () => (await service.machineProcesses()).length).toBe(1);
});
