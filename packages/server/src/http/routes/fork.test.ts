import { type ForkList, forkListSchema } from '@mayfly/contract';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { stubService } from '../../../test/app/stub-service.ts';
import { HostFull } from '../../core/ports/machine-driver.ts';
import { reconcile } from '../../core/recovery/reconcile.ts';

let service: Awaited<ReturnType<typeof stubService>>;
let sandboxId: string;
beforeEach(async () => {
  service = await stubService();
  sandboxId = (await service.call('POST', '/v1/sandboxes', { size: 'medium' })).body.id;
});
afterEach(() => service[Symbol.asyncDispose]());

const original = () => service.driver.machines[0] ?? service.driver.newest;
const fork = (body: object = {}, id = sandboxId) => service.call('POST', `/v1/sandboxes/${id}/fork`, body);
const resultsOf = ({ body }: Awaited<ReturnType<typeof fork>>): ForkList['data'] => forkListSchema.parse(body).data;
const listed = async () => (await service.call('GET', '/v1/sandboxes')).body.data;
/** Counts how often the original is saved, and as what. */
const saves = () => {
  const ids: string[] = [];
  original().beforeSaved = async (id) => void ids.push(id);
  return ids;
};

test('copies of one save: running, each with an identity of its own, and no snapshot is kept', async () => {
  const saved = saves();
  const answer = await fork({ count: 3, name: 'try', timeout_minutes: 5 });
  expect(answer.status).toBe(201);
  const copies = resultsOf(answer).map(({ sandbox }) => sandbox);
  expect(saved).toHaveLength(1);
  expect(
    copies.map((copy) => [copy?.status, copy?.size, copy?.name, copy?.timeout_minutes, copy?.snapshot_id]),
  ).toEqual(Array.from({ length: 3 }, () => ['running', 'medium', 'try', 5, null]));
  expect(service.driver.machines.slice(1).map(({ snapshotId }) => snapshotId)).toEqual([...saved, ...saved, ...saved]);
  const identities = service.connector.identities.map(({ machineId }) => machineId);
  expect(new Set(identities).size).toBe(4);
  await service.core.background.idle();
  expect([service.driver.stored.size, service.core.snapshotsInFlight.size]).toEqual([0, 0]);
  const record = await service.store.sandboxes.read(copies[0]?.id ?? '');
  expect(record?.origin).toMatchObject({ sandboxId, snapshotId: null });
});

test('twenty copies are made of one save, and no more', async () => {
  // Whatever is free on the host that runs the test.
  await using roomy = await stubService({}, { MAYFLY_MEMORY_OVERCOMMIT: '100', MAYFLY_DISK_OVERCOMMIT: '1000' });
  await roomy.core.store.accounts.setLimits('acct_test', { concurrentSandboxes: 30 });
  const path = `/v1/sandboxes/${(await roomy.call('POST', '/v1/sandboxes')).body.id}/fork`;
  const saved: string[] = [];
  roomy.driver.newest.beforeSaved = async (id) => void saved.push(id);
  const results = resultsOf(await roomy.call('POST', path, { count: 20 }));
  expect(results.map(({ sandbox, error }) => error ?? sandbox?.status)).toEqual(results.map(() => 'running'));
  expect([results.length, saved.length]).toEqual([20, 1]);
  expect((await roomy.call('POST', path, { count: 21 })).status).toBe(400);
});

test('its pause is measured once, however many copies are made, as for a snapshot', async () => {
  const pauses = async () => (await service.app.inject('/metrics')).body.match(/^mayfly_snapshot_pause_.*_count.*/gm);
  await fork({ count: 3 });
  expect(await pauses()).toEqual(['mayfly_snapshot_pause_seconds_count{size="medium"} 1']);
  await service.call('POST', `/v1/sandboxes/${sandboxId}/snapshots`);
  expect(await pauses()).toEqual(['mayfly_snapshot_pause_seconds_count{size="medium"} 2']);
});

test('a copy that is refused is an error; the others are made', async () => {
  await service.core.store.accounts.setLimits('acct_test', { concurrentSandboxes: 3 });
  const results = resultsOf(await fork({ count: 4 }));
  expect(results.map(({ sandbox, error }) => sandbox?.status ?? error?.type)).toEqual([
    'running',
    'running',
    'quota_exceeded',
    'quota_exceeded',
  ]);
});

test('a copy whose machine does not start is an error, and its record is failed', async () => {
  let launches = 0;
  service.driver.beforeLaunched = async () => {
    launches += 1;
    if (launches === 2) throw new Error('no');
  };
  const results = resultsOf(await fork({ count: 2 }));
  expect(results.map(({ sandbox, error }) => sandbox?.status ?? error?.type)).toEqual([
    'running',
    'provisioning_failed',
  ]);
  expect((await listed()).map(({ status }) => status).toSorted()).toEqual(['failed', 'running', 'running']);
});

test('if every copy is refused, nothing is saved and the answer is that error', async () => {
  const saved = saves();
  await service.core.store.accounts.setLimits('acct_test', { concurrentSandboxes: 1 });
  const refused = await fork({ count: 2 });
  expect([refused.status, refused.body.error.type]).toEqual([429, 'quota_exceeded']);
  expect(saved).toEqual([]);
  expect(await listed()).toHaveLength(1);
});

test('at capacity: 503 for all, or an error for those that do not fit', async () => {
  await using full = await stubService({}, { MAYFLY_MAX_MACHINES: '2' });
  const { body } = await full.call('POST', '/v1/sandboxes');
  const answer = await full.call('POST', `/v1/sandboxes/${body.id}/fork`, { count: 3 });
  expect(resultsOf(answer).map(({ sandbox, error }) => sandbox?.status ?? error?.type)).toEqual([
    'running',
    'capacity_unavailable',
    'capacity_unavailable',
  ]);
  const refused = await full.call('POST', `/v1/sandboxes/${body.id}/fork`);
  expect([refused.status, refused.body.error.type]).toEqual([503, 'capacity_unavailable']);
});

test.each([
  [new HostFull('no'), 'capacity_unavailable', 'the host has too little free disk for a snapshot'],
  [new Error('qemu: /var/lib/mayfly: EIO'), 'provisioning_failed', 'the machine could not be saved'],
])('a save that fails (%s): 503, the copies cost nothing, and the sandbox goes on', async (error, type, reason) => {
  original().beforeSaved = () => Promise.reject(error);
  const { status, body } = await fork({ count: 2 });
  expect([status, body.error.type]).toEqual([503, type]);
  expect(body.error.message).toBe(`The sandbox could not be provisioned: ${reason}. Try again.`);
  expect((await listed()).map((one) => `${one.status} ${one.ready_at}`).toSorted()).toEqual([
    'failed null',
    'failed null',
    'running 2026-01-01T00:00:00.000Z',
  ]);
  await service.core.background.idle();
  expect(service.driver.stored.size).toBe(0);
});

test('saves in progress count as disk space, also the saves of forks', async () => {
  const begun = Promise.withResolvers<void>();
  const saved = Promise.withResolvers<void>();
  original().beforeSaved = () => {
    begun.resolve();
    return saved.promise;
  };
  const other = (await service.call('POST', '/v1/sandboxes')).body.id;
  const { diskFreeBytes } = service.core.host.stats();
  for (const machine of service.driver.machines) machine.used = { memoryBytes: diskFreeBytes * 0.6, diskBytes: 0 };
  const first = fork();
  await begun.promise;
  const refused = [await fork({}, other), await service.call('POST', `/v1/sandboxes/${other}/snapshots`)];
  expect(refused.map(({ status, body }) => [status, body.error.type])).toEqual([
    [503, 'capacity_unavailable'],
    [503, 'capacity_unavailable'],
  ]);
  saved.resolve();
  expect((await first).status).toBe(201);
  expect((await fork({}, other)).status).toBe(201);
});

test('a save that takes too long fails, and what it stores later is deleted', async () => {
  await using slow = await stubService({ saveMs: 20 });
  const { body } = await slow.call('POST', '/v1/sandboxes');
  const released = Promise.withResolvers<void>();
  slow.driver.newest.beforeSaved = () => released.promise;
  expect((await slow.call('POST', `/v1/sandboxes/${body.id}/fork`)).status).toBe(503);
  released.resolve();
  await new Promise(setImmediate);
  await slow.core.background.idle();
  expect(slow.driver.stored.size).toBe(0);
});

test('a sandbox that ends during the save: its copies fail, and the answer says that it is gone', async () => {
  const begun = Promise.withResolvers<void>();
  original().beforeSaved = () => {
    begun.resolve();
    return new Promise(() => {});
  };
  const answer = fork();
  await begun.promise;
  await service.call('DELETE', `/v1/sandboxes/${sandboxId}`);
  expect((await answer).status).toBe(404);
});

test('copies that wait for the save are left alone by reconciliation and can be deleted', async () => {
  const begun = Promise.withResolvers<void>();
  const saved = Promise.withResolvers<void>();
  original().beforeSaved = () => {
    begun.resolve();
    return saved.promise;
  };
  const answer = fork({ count: 2 });
  await begun.promise;
  await reconcile(service.core);
  const waiting = (await listed()).filter(({ status }) => status === 'provisioning');
  expect(waiting).toHaveLength(2);
  expect((await service.call('DELETE', `/v1/sandboxes/${waiting[0]?.id}`)).status).toBe(202);
  saved.resolve();
  const results = resultsOf(await answer);
  const became = results.map(({ sandbox, error }) => String(sandbox?.status ?? error?.type));
  expect(became.toSorted()).toEqual(['provisioning_failed', 'running']);
});

test('two forks of one sandbox save it one after the other', async () => {
  let saving = 0;
  original().beforeSaved = async () => {
    saving += 1;
    expect(saving).toBe(1);
    await new Promise(setImmediate);
    saving -= 1;
  };
  const answers = await Promise.all([fork({ count: 2 }), fork({ count: 2 })]);
  expect(answers.map(({ status }) => status)).toEqual([201, 201]);
});

test('each copy counts as one creation', async () => {
  await using limited = await stubService({}, { MAYFLY_LIMIT_CREATIONS_PER_MINUTE: '4' });
  const { body } = await limited.call('POST', '/v1/sandboxes');
  const forked = (count: number) => limited.call('POST', `/v1/sandboxes/${body.id}/fork`, { count });
  expect((await forked(3)).status).toBe(201);
  const refused = await forked(1);
  expect([refused.status, refused.body.error.type]).toEqual([429, 'rate_limit_exceeded']);
  expect([refused.headers['ratelimit-limit'], refused.headers['retry-after']].map(String)).toEqual(['4', '60']);
  limited.clock.advanceMs(60_000);
  const tooMany = await forked(5);
  expect([tooMany.status, tooMany.body.error.message]).toEqual([
    400,
    'count must be at most 4: this account may create 4 sandboxes per minute',
  ]);
});

test('a fork that is refused uses up nothing of the creation window', async () => {
  await using limited = await stubService({}, { MAYFLY_LIMIT_CREATIONS_PER_MINUTE: '4' });
  const { body } = await limited.call('POST', '/v1/sandboxes');
  const forked = async (count: number, id = body.id) =>
    (await limited.call('POST', `/v1/sandboxes/${id}/fork`, { count })).status;
  expect([await forked(4, 'sbx_none'), await forked(4), await forked(3)]).toEqual([404, 429, 201]);
});

test('an invalid body, then an unknown sandbox, then one that is not running, then no credit', async () => {
  const error = async (body: object, id?: string) => {
    const answer = await fork(body, id);
    return [answer.status, answer.body.error.type, answer.body.error.message];
  };
  for (const count of [0, 21, 1.5, 'two']) {
    expect(await error({ count }, 'sbx_none')).toEqual([
      400,
      'invalid_request',
      'count must be an integer from 1 to 20',
    ]);
  }
  expect(await error({}, 'sbx_none')).toEqual([404, 'not_found', 'No such sandbox.']);
  const credit = { id: 'led_1', accountId: 'acct_test', createdAtMs: service.clock.nowMs(), note: '' };
  await service.store.ledger.addCredit({ ...credit, amountMicroUsd: -100_000_000 });
  expect((await fork()).status).toBe(402);
  original().die('killed');
  await vi.waitFor(async () => expect((await fork()).status).toBe(409), { timeout: 30_000 });
});
