import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { storeSnapshot } from '../../../test/app/stored-snapshot.ts';
import { stubService } from '../../../test/app/stub-service.ts';
import { hashApiKey } from '../../core/accounts/api-keys.ts';
import { SnapshotUnusable } from '../../core/ports/machine-driver.ts';
import { expireSandboxes } from '../../core/sandboxes/end.ts';

let service: Awaited<ReturnType<typeof stubService>>;
let sandboxId: string;
beforeEach(async () => {
  service = await stubService();
  sandboxId = (await create({ size: 'medium' })).body.id;
});
afterEach(() => service[Symbol.asyncDispose]());

const create = (body: object, headers: Record<string, string> = {}) =>
  service.call('POST', '/v1/sandboxes', body, headers);
const errorOf = ({ status, body }: Awaited<ReturnType<typeof create>>) => [status, body.error.type, body.error.message];
const setBalance = async (microUsd: number) => {
  const { settledMicroUsd } = await service.store.ledger.funds('acct_test');
  const credit = { id: 'led_1', accountId: 'acct_test', createdAtMs: service.clock.nowMs(), note: '' };
  await service.store.ledger.addCredit({ ...credit, amountMicroUsd: microUsd - settledMicroUsd });
};

test('a copy has the size of the snapshot, a machine made from it, and an identity of its own', async () => {
  const snapshotId = await storeSnapshot(service, sandboxId);
  const { status, body } = await create({ snapshot_id: snapshotId });
  expect([status, body.size, body.snapshot_id]).toEqual([201, 'medium', snapshotId]);
  expect(service.driver.newest.snapshotId).toBe(snapshotId);
  const [original, copy] = service.connector.identities;
  expect(copy?.hostname).toBe(body.id.replace('_', '-'));
  expect(copy?.machineId).not.toBe(original?.machineId);
  expect((await service.call('GET', `/v1/sandboxes/${body.id}`)).body).toEqual(body);
  expect((await service.call('GET', `/v1/sandboxes/${sandboxId}`)).body.snapshot_id).toBeNull();
  expect((await create({ snapshot_id: snapshotId, size: 'medium' })).status).toBe(201);
});

test('a copy is charged for its own time, from its own ready_at, at the price of the size of the snapshot', async () => {
  const snapshotId = await storeSnapshot(service, sandboxId);
  service.clock.advanceMs(600_000);
  await service.call('DELETE', `/v1/sandboxes/${sandboxId}`);
  const summary = () => service.store.ledger.summary('acct_test', 0);
  const before = await summary();
  service.clock.advanceMs(3_600_000);
  service.driver.beforeLaunched = async () => service.clock.advanceMs(60_000);
  const { body } = await create({ snapshot_id: snapshotId, timeout_minutes: 60 });
  expect(body.ready_at).toBe(new Date(service.clock.nowMs()).toISOString());
  service.clock.advanceMs(1_800_000);
  expect((await service.call('DELETE', `/v1/sandboxes/${body.id}`)).status).toBe(200);
  const after = await summary();
  expect(after.runtimeMs - before.runtimeMs).toBe(1_800_000);
  // A medium sandbox costs 0.1 USD per hour.
  expect(after.spentMicroUsd - before.spentMicroUsd).toBe(50_000);
});

test('a copy has a lifetime of its own, which begins when it is ready', async () => {
  const snapshotId = await storeSnapshot(service, sandboxId);
  service.clock.advanceMs(600_000);
  const { body } = await create({ snapshot_id: snapshotId, timeout_minutes: 5 });
  expect(Date.parse(body.expires_at ?? '') - Date.parse(body.ready_at ?? '')).toBe(300_000);
  service.clock.advanceMs(299_000);
  await expireSandboxes(service.core);
  expect((await service.call('GET', `/v1/sandboxes/${body.id}`)).body.status).toBe('running');
  service.clock.advanceMs(2_000);
  await expireSandboxes(service.core);
  const { status, status_reason } = (await service.call('GET', `/v1/sandboxes/${body.id}`)).body;
  expect([status, status_reason]).toEqual(['deleted', 'expired']);
});

test('a template is found by its alias, and the sandbox names its snapshot', async () => {
  const snapshotId = await storeSnapshot(service, sandboxId, { alias: 'web-app' });
  const { status, body } = await create({ template: 'web-app' });
  expect([status, body.snapshot_id, service.driver.newest.snapshotId]).toEqual([201, snapshotId, snapshotId]);
});

test('snapshot_id and template together, or another size: 400 that says what to send', async () => {
  const snapshotId = await storeSnapshot(service, sandboxId, { alias: 'web-app' });
  expect(errorOf(await create({ snapshot_id: snapshotId, template: 'web-app' }))).toEqual([
    400,
    'invalid_request',
    'snapshot_id and template cannot be used together',
  ]);
  for (const source of [{ snapshot_id: snapshotId }, { template: 'web-app' }]) {
    const [status, type, message] = errorOf(await create({ ...source, size: 'small' }));
    expect([status, type]).toEqual([400, 'invalid_request']);
    expect(message).toMatch(/^size must be medium, the size of the (snapshot|template), or absent$/);
  }
});

test('an unknown snapshot or template, and one of another account: 404', async () => {
  const key = { id: 'key_2', hash: hashApiKey('mf_second'), prefix: 'mf_' };
  const second = { id: 'acct_second', email: 'b@localhost', openingCreditMicroUsd: 1_000_000, createdAtMs: 0, key };
  await service.store.accounts.create(second);
  const foreign = await storeSnapshot(service, sandboxId, { accountId: 'acct_second', alias: 'theirs' });
  for (const id of ['snap_none', '', foreign]) {
    expect(errorOf(await create({ snapshot_id: id }))).toEqual([404, 'not_found', 'No such snapshot.']);
  }
  for (const template of ['none', 'theirs']) {
    expect(errorOf(await create({ template }))).toEqual([404, 'not_found', 'No such template.']);
  }
});

test.each([
  ['creating', 'Wait until it is ready.'],
  ['failed', 'Its files are lost. Delete it and take a new one.'],
] as const)('a snapshot that is %s: 400 that says what to do', async (status, advice) => {
  const id = await storeSnapshot(service, sandboxId, { status });
  const message = `Snapshot ${id} is not ready (status: ${status}). ${advice}`;
  expect(errorOf(await create({ snapshot_id: id }))).toEqual([400, 'invalid_request', message]);
});

test('a replay succeeds after the snapshot was deleted, and at zero balance', async () => {
  const snapshotId = await storeSnapshot(service, sandboxId, { alias: 'web-app' });
  const key = { 'idempotency-key': 'k' };
  const first = await create({ template: 'web-app' }, key);
  await service.store.snapshots.remove(snapshotId, service.clock.nowMs());
  await setBalance(0);
  const again = await create({ template: 'web-app' }, key);
  expect([first.status, again.status, again.body.id]).toEqual([201, 200, first.body.id]);
  expect((await create({ template: 'web-app' })).status).toBe(404);
});

test('a replay succeeds although the alias has moved to a snapshot of another size', async () => {
  const snapshotId = await storeSnapshot(service, sandboxId, { alias: 'web-app' });
  const body = { template: 'web-app', size: 'medium' };
  const key = { 'idempotency-key': 'k' };
  const first = await create(body, key);
  await service.store.snapshots.remove(snapshotId, service.clock.nowMs());
  const small = (await create({ size: 'small' })).body.id;
  await storeSnapshot(service, small, { alias: 'web-app' });
  const again = await create(body, key);
  expect([again.status, again.body.id]).toEqual([200, first.body.id]);
  expect((await create(body)).status).toBe(400);
});

test('the order of checks: what is wrong with the request, then credit, then quota', async () => {
  const snapshotId = await storeSnapshot(service, sandboxId);
  await service.core.store.accounts.setLimits('acct_test', { concurrentSandboxes: 1 });
  expect((await create({ snapshot_id: snapshotId })).status).toBe(429);
  await setBalance(0);
  expect((await create({ snapshot_id: snapshotId })).status).toBe(402);
  expect((await create({ snapshot_id: 'snap_none' })).status).toBe(404);
  expect((await create({ snapshot_id: 'snap_none', timeout_minutes: 0 })).status).toBe(400);
});

test('a snapshot that cannot run here: 503 with the reason for its owner, also in the record', async () => {
  const snapshotId = await storeSnapshot(service, sandboxId);
  const reason = 'The snapshot was saved by another version of QEMU. Take a new one.';
  service.driver.beforeLaunched = () => Promise.reject(new SnapshotUnusable(reason));
  expect(errorOf(await create({ snapshot_id: snapshotId }))).toEqual([
    503,
    'provisioning_failed',
    `The sandbox could not be provisioned: ${reason}`,
  ]);
  const { data } = (await service.call('GET', '/v1/sandboxes')).body;
  expect(data[0]).toMatchObject({
    status: 'failed',
    status_reason: `provisioning_failed: ${reason.replace(/\.$/, '')}`,
    snapshot_id: snapshotId,
  });
});

test.each([
  ['snapshot', (id: string) => ({ snapshot_id: id })],
  ['template', () => ({ template: 'web-app' })],
])('a %s that is deleted while the launch waits: 404, as for an unknown one', async (what, bodyOf) => {
  const snapshotId = await storeSnapshot(service, sandboxId, { alias: 'web-app' });
  const [launching, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  service.driver.beforeLaunched = () => {
    launching.resolve();
    return released.promise;
  };
  const answer = create(bodyOf(snapshotId));
  await launching.promise;
  expect((await service.call('DELETE', `/v1/snapshots/${snapshotId}`)).status).toBe(200);
  released.resolve();
  expect(errorOf(await answer)).toEqual([404, 'not_found', `No such ${what}.`]);
  expect((await service.call('GET', '/v1/sandboxes')).body.data[0]).toMatchObject({ status: 'failed', ready_at: null });
});

test('a copy of a template comes from the pool, whether it is named by alias or by snapshot', async () => {
  await using pooled = await stubService({}, { MAYFLY_POOL: 'template:a@localhost/web-app=1' });
  const { body } = await pooled.call('POST', '/v1/sandboxes');
  const snapshotId = await storeSnapshot(pooled, body.id, { alias: 'web-app' });
  pooled.core.pool.start();
  await pooled.core.pool.refreshTemplates();
  for (const source of [{ template: 'web-app' }, { snapshot_id: snapshotId }]) {
    await vi.waitFor(() => expect(pooled.core.pool.readyCount('small')).toBe(1), { timeout: 30_000 });
    const { newest } = pooled.driver;
    expect([newest.paused, newest.snapshotId]).toEqual([true, snapshotId]);
    const copy = await pooled.call('POST', '/v1/sandboxes', source);
    expect([copy.status, newest.paused]).toEqual([201, false]);
    const record = await pooled.store.sandboxes.read(copy.body.id);
    expect([record?.machineId, record?.origin?.snapshotId]).toEqual([newest.id, snapshotId]);
  }
  await pooled.core.pool[Symbol.asyncDispose]();
});
