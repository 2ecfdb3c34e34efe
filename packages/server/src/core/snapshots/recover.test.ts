import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { stubService } from '../../../test/app/stub-service.ts';
import { stubFileBytes } from '../../../test/core/stub-driver.ts';
import { keepSnapshots } from './recover.ts';

const dayMs = 86_400_000;
const gibibyte = 1024 ** 3;
let service: Awaited<ReturnType<typeof stubService>>;
let sandboxId: string;
beforeEach(async () => {
  service = await stubService(undefined, { MAYFLY_PRICE_SNAPSHOT_GB_MONTH: '30' });
  sandboxId = (await service.call('POST', '/v1/sandboxes')).body.id;
});
afterEach(() => service[Symbol.asyncDispose]());

const take = async () => (await service.call('POST', `/v1/sandboxes/${sandboxId}/snapshots`)).body.id;
const get = (id: string) => service.call('GET', `/v1/snapshots/${id}`);
const keep = () => {
  service.core.snapshotsChanged.mark();
  return keepSnapshots(service.core);
};
const newRecord = (id: string) => ({
  id,
  accountId: 'acct_test',
  sandboxId,
  name: null,
  alias: null,
  size: 'small' as const,
  idempotencyKey: 'k',
  priceMicroUsdPerGbMonth: 0,
  createdAtMs: service.clock.nowMs(),
});
const storeFiles = (id: string, ...files: readonly string[]) =>
  service.driver.stored.set(id, { id, size: 'small', files: files.map((file) => ({ id: file, bytes: gibibyte })) });

test('a snapshot that a crash interrupted is not listed, its files are deleted, and its key is free', async () => {
  await service.store.snapshots.insert(newRecord('snap_half'), () => undefined);
  storeFiles('snap_half', 'x');
  await keep();
  expect((await get('snap_half')).status).toBe(404);
  expect([...service.driver.stored.keys()]).toEqual([]);
  const again = await service.call('POST', `/v1/sandboxes/${sandboxId}/snapshots`, {}, { 'idempotency-key': 'k' });
  expect(again.status).toBe(201);
});

test('files without a record are deleted, and complete snapshots stay', async () => {
  const id = await take();
  storeFiles('snap_orphan', 'x');
  await keep();
  expect([...service.driver.stored.keys()]).toEqual([id]);
  expect((await get(id)).body.status).toBe('ready');
});

test('what this process works on is left alone', async () => {
  const saved = Promise.withResolvers<void>();
  const saving = Promise.withResolvers<void>();
  service.driver.newest.beforeSaved = () => {
    saving.resolve();
    return saved.promise;
  };
  const taking = service.call('POST', `/v1/sandboxes/${sandboxId}/snapshots`);
  await saving.promise;
  storeFiles('snap_fork', 'x');
  const forking = service.core.savesInFlight.run('snap_fork', { neededBytes: 0 }, () => saved.promise);
  await keep();
  expect(service.driver.stored.has('snap_fork')).toBe(true);
  saved.resolve();
  await forking;
  expect((await taking).status).toBe(201);
});

test('a snapshot whose files are lost is failed, costs nothing more, and can be deleted', async () => {
  const id = await take();
  service.driver.stored.delete(id);
  await keep();
  expect((await get(id)).body).toMatchObject({ status: 'failed', bytes: 0 });
  expect((await service.store.ledger.funds('acct_test')).stored).toEqual([]);
  expect((await service.call('DELETE', `/v1/snapshots/${id}`)).status).toBe(200);
  expect((await get(id)).status).toBe(404);
});

test('sizes follow the files, and storage is charged once a day', async () => {
  const id = await take();
  expect((await get(id)).body.bytes).toBe(stubFileBytes);
  storeFiles(id, 'a', 'b');
  await keep();
  expect((await get(id)).body.bytes).toBe(2 * gibibyte);
  service.clock.advanceMs(dayMs - 1);
  await keep();
  const spent = async () => (await service.call('GET', '/v1/usage')).body as unknown as Record<string, number>;
  const { settledMicroUsd } = await service.store.ledger.funds('acct_test');
  service.clock.advanceMs(1);
  await keep();
  expect((await service.store.ledger.funds('acct_test')).settledMicroUsd).toBe(settledMicroUsd - 2_000_000);
  expect((await spent()).snapshot_storage_usd).toBe(2);
  service.clock.advanceMs(dayMs / 2);
  expect((await spent()).snapshot_storage_usd).toBe(3);
});

test('without a change nothing is compared, until the host process was away', async () => {
  await keep();
  storeFiles('snap_orphan', 'x');
  await keepSnapshots(service.core);
  expect(service.driver.stored.has('snap_orphan')).toBe(true);
  service.driver.available = false;
  await keepSnapshots(service.core);
  service.driver.available = true;
  await keepSnapshots(service.core);
  expect(service.driver.stored.has('snap_orphan')).toBe(false);
});

test('a failed comparison is repeated', async () => {
  storeFiles('snap_orphan', 'x');
  vi.spyOn(service.driver, 'deleteSnapshot').mockRejectedValueOnce(new Error('the disk is busy'));
  await expect(keep()).rejects.toThrow('busy');
  await keepSnapshots(service.core);
  expect(service.driver.stored.has('snap_orphan')).toBe(false);
});
