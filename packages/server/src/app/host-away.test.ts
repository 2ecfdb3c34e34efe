import { expect, test } from 'vitest';
import { stubService } from '../../test/app/stub-service.ts';
import { HostUnavailable } from '../core/ports/machine-driver.ts';

test('while the host process is away, creates answer 503 and leave no record, and commands go on', async () => {
  await using service = await stubService();
  const { id } = (await service.call('POST', '/v1/sandboxes')).body;
  service.driver.available = false;
  const refused = await service.call('POST', '/v1/sandboxes');
  expect([refused.status, refused.body.error]).toEqual([
    503,
    { type: 'capacity_unavailable', message: 'The service cannot start machines at the moment. Try again later.' },
  ]);
  expect((await service.call('GET', '/v1/sandboxes')).body.data).toHaveLength(1);
  const executed = await service.call('POST', `/v1/sandboxes/${id}/exec`, { command: 'true' });
  expect(executed.status).toBe(200);
  const health = await service.call('GET', '/healthz');
  expect([health.status, health.body]).toEqual([503, { status: 'host_unavailable' }]);
  service.driver.available = true;
  expect((await service.call('GET', '/healthz')).status).toBe(200);
  expect((await service.call('POST', '/v1/sandboxes')).status).toBe(201);
});

test('a create during which the host process goes away answers 503 and is not billed', async () => {
  await using service = await stubService();
  service.driver.beforeLaunched = () =>
    Promise.reject(new HostUnavailable('connect ENOENT /var/lib/mayfly/run/host.sock'));
  const failed = await service.call('POST', '/v1/sandboxes');
  expect([failed.status, failed.body.error.type]).toEqual([503, 'capacity_unavailable']);
  expect(failed.body.error.message).not.toContain('/var/lib');
  const [sandbox] = (await service.call('GET', '/v1/sandboxes')).body.data;
  expect(sandbox).toMatchObject({ status: 'failed', ready_at: null });
});

test('a delete while the host process is away is completed once it is back', async () => {
  await using service = await stubService();
  const { id } = (await service.call('POST', '/v1/sandboxes')).body;
  let isAway = true;
  service.driver.newest.beforeDestroyed = async () => {
    if (isAway) throw new HostUnavailable('the host process is not available');
  };
  expect((await service.call('DELETE', `/v1/sandboxes/${id}`)).status).toBe(202);
  isAway = false;
  await expect.poll(() => service.driver.newest.destroyed).toBe(true);
  await expect.poll(async () => (await service.call('DELETE', `/v1/sandboxes/${id}`)).status).toBe(404);
});
