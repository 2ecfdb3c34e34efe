import { expect, test } from 'vitest';
import { stubService } from '../../../test/app/stub-service.ts';
import type { RetentionStore } from '../ports/store/store.ts';
import { removeOldRecords } from './retention.ts';

const dayMs = 24 * 60 * 60 * 1_000;

test('a record is kept for the retention period, and not longer', async () => {
  await using service = await stubService();
  const { id } = (await service.call('POST', '/v1/sandboxes')).body;
  await service.call('DELETE', `/v1/sandboxes/${id}`);
  const status = async () => (await service.call('GET', `/v1/sandboxes/${id}`)).status;
  service.clock.advanceMs(30 * dayMs - 60_000);
  await removeOldRecords(service.core, 30);
  expect(await status()).toBe(200);
  service.clock.advanceMs(120_000);
  expect(await removeOldRecords(service.core, 30)).toBeGreaterThan(0);
  expect(await status()).toBe(404);
});

test('however many there are, all of them are removed, in batches', async () => {
  const left = {
    removeExecutions: 450,
    removeSandboxes: 200,
    removeAuditEvents: 3,
    removeSessions: 201,
    removeSignInLinks: 1,
  };
  const remove = (name: keyof RetentionStore) => async (_before: unknown, maxRows: number) => {
    const removed = Math.min(left[name], maxRows);
    left[name] -= removed;
    return removed;
  };
  await using service = await stubService();
  const retention: RetentionStore = {
    removeExecutions: remove('removeExecutions'),
    removeSandboxes: remove('removeSandboxes'),
    removeAuditEvents: remove('removeAuditEvents'),
    removeSessions: remove('removeSessions'),
    removeSignInLinks: remove('removeSignInLinks'),
  };
  const { store, clock } = service.core;
  expect(await removeOldRecords({ store: { ...store, retention }, clock }, 30)).toBe(855);
  expect(Object.values(left)).toEqual([0, 0, 0, 0, 0]);
});
