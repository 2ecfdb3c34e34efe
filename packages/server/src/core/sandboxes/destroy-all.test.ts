import { expect, test } from 'vitest';
import { stubService } from '../../../test/app/stub-service.ts';
import { refuseLeft, SandboxesLeft } from '../../app/run-service.ts';
import { HostUnavailable } from '../ports/machine-driver.ts';
import { destroyUntilGone } from './destroy-all.ts';

/** A service with two sandboxes. The machine of the second can be destroyed only while the host process is there. */
async function twoSandboxes() {
  const service = await stubService();
  const [first, second] = [
    (await service.call('POST', '/v1/sandboxes')).body.id,
    (await service.call('POST', '/v1/sandboxes')).body.id,
  ];
  const host = { isAway: true, attempts: 0 };
  service.driver.newest.beforeDestroyed = async () => {
    host.attempts += 1;
    if (host.isAway) throw new HostUnavailable('the host process is not available');
  };
  return { service, first, second, host };
}

test('every sandbox is destroyed once the host process is back', async () => {
  const { service, host } = await twoSandboxes();
  await using _service = service;
  const destruction = destroyUntilGone(service.core, { deadlineMs: 60_000, pauseMs: 10 });
  await expect.poll(() => host.attempts).toBeGreaterThan(1);
  host.isAway = false;
  expect(await destruction).toEqual({ destroyed: 2, left: [], machinesLeft: 0 });
  expect(service.driver.newest.destroyed).toBe(true);
  expect(refuseLeft(await destruction)).toBe(2);
});

test('sandboxes that could not be destroyed in time are named, and nobody is told that they were', async () => {
  const { service, second, host } = await twoSandboxes();
  await using _service = service;
  const destruction = await destroyUntilGone(service.core, { deadlineMs: 0, pauseMs: 10 });
  expect(destruction).toEqual({ destroyed: 1, left: [second], machinesLeft: 1 });
  expect(() => refuseLeft(destruction)).toThrow(SandboxesLeft);
  expect(() => refuseLeft(destruction)).toThrow(`Destroyed 1 sandbox. 1 sandbox (${second}) could not be destroyed`);
  host.isAway = false;
  expect(await destroyUntilGone(service.core, { deadlineMs: 60_000, pauseMs: 10 })).toMatchObject({ left: [] });
});
