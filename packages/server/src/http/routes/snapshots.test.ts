import type { SnapshotList } from '@mayfly/contract';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { stubService } from '../../../test/app/stub-service.ts';
import { stubFileBytes } from '../../../test/core/stub-driver.ts';
import { hashApiKey } from '../../core/accounts/api-keys.ts';
import { GuestUnreachable } from '../../core/ports/guest-agent.ts';
import { HostFull, HostUnavailable } from '../../core/ports/machine-driver.ts';
import { detachAllSandboxes } from '../../core/sandboxes/end.ts';
import { keepSnapshots } from '../../core/snapshots/recover.ts';

type Service = Awaited<ReturnType<typeof stubService>>;
let service: Service;
let sandboxId: string;
beforeEach(async () => {
  service = await stubService(undefined, { MAYFLY_LOG_LEVEL: 'info' });
  sandboxId = (await service.call('POST', '/v1/sandboxes')).body.id;
});
afterEach(() => service[Symbol.asyncDispose]());

const take = (body: unknown = {}, headers: Record<string, string> = {}, id = sandboxId) =>
  service.call('POST', `/v1/sandboxes/${id}/snapshots`, body, headers);
const get = (id: string) => service.call('GET', `/v1/snapshots/${id}`);
const remove = (id: string) => service.call('DELETE', `/v1/snapshots/${id}`);
const list = async (query = '') => (await service.call('GET', `/v1/snapshots${query}`)).body as unknown as SnapshotList;
const refusal = ({ status, body }: Awaited<ReturnType<typeof take>>) => [status, body.error.type, body.error.message];
const keyed = { 'idempotency-key': 'k' };

/** Holds every save of the sandbox back until it is released. */
function holdSaves() {
  const [begun, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  service.driver.newest.beforeSaved = () => {
    begun.resolve();
    return released.promise;
  };
  return { begun: begun.promise, release: released.resolve };
}

describe('taking', () => {
  test('a snapshot is ready when the call returns, and the sandbox goes on', async () => {
    const taken = await take({ name: 'after install', alias: 'web-app' });
    expect(taken.status).toBe(201);
    expect(taken.headers.location).toBe(`http://localhost/v1/snapshots/${taken.body.id}`);
    expect(taken.body).toEqual({
      object: 'snapshot',
      id: expect.stringMatching(/^snap_[a-z2-7]{24}$/),
      name: 'after install',
      alias: 'web-app',
      sandbox_id: sandboxId,
      size: 'small',
      status: 'ready',
      bytes: stubFileBytes,
      created_at: '2026-01-01T00:00:00.000Z',
    });
    expect((await get(taken.body.id)).body).toEqual(taken.body);
    expect((await service.call('GET', `/v1/sandboxes/${sandboxId}`)).body.status).toBe('running');
    const event = service.logged.find((line) => line.event === 'snapshot_taken');
    expect(event).toMatchObject({ snapshot_id: taken.body.id, sandbox_id: sandboxId, paused_ms: 1 });
    const metrics = (await service.app.inject('/metrics')).body;
    expect(metrics).toContain('mayfly_snapshot_duration_seconds_count{size="small",outcome="ready"} 1');
    expect(metrics).toContain('mayfly_snapshots{status="ready"} 1');
  });

  test('without a body it has neither name nor alias', async () => {
    expect((await take(undefined)).body).toMatchObject({ name: null, alias: null });
  });

  test('it is listed as creating until it is saved, while the sandbox stays running', async () => {
    const saves = holdSaves();
    const taking = take();
    await saves.begun;
    expect((await list()).data).toMatchObject([{ status: 'creating', bytes: 0 }]);
    expect((await service.call('GET', `/v1/sandboxes/${sandboxId}`)).body.status).toBe('running');
    saves.release();
    expect((await taking).body.status).toBe('ready');
  });

  test('it outlives its sandbox', async () => {
    const { id } = (await take()).body;
    await service.call('DELETE', `/v1/sandboxes/${sandboxId}`);
    expect((await get(id)).body.status).toBe('ready');
  });

  test('a machine is saved for one snapshot at a time', async () => {
    let saving = 0;
    let most = 0;
    service.driver.newest.beforeSaved = async () => {
      most = Math.max(most, ++saving);
      await new Promise(setImmediate);
      saving -= 1;
    };
    const answers = await Promise.all([take(), take(), take()]);
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 201]);
    expect(most).toBe(1);
  });
});

describe('the clock of a machine that was saved', () => {
  const warnings = () => service.logged.filter((line) => line.event === 'clock_update_failed');

  test('is set again, also after a fork and after a save that failed', async () => {
    const { connector, core, driver } = service;
    const setsAfter = async (work: Promise<unknown>) => {
      await work;
      await core.background.idle();
      return connector.clocksSet;
    };
    expect(await setsAfter(take())).toBe(1);
    expect(await setsAfter(service.call('POST', `/v1/sandboxes/${sandboxId}/fork`, { count: 2 }))).toBe(2);
    const [original = driver.newest] = driver.machines;
    original.beforeSaved = () => Promise.reject(new Error('no'));
    expect(await setsAfter(take())).toBe(3);
  });

  test('does not delay the snapshot', async () => {
    const set = Promise.withResolvers<void>();
    service.connector.beforeClockSet = () => set.promise;
    expect([(await take()).status, (await take()).status]).toEqual([201, 201]);
    set.resolve();
  });

  test('does not fail the snapshot, and a failure is logged', async () => {
    service.connector.beforeClockSet = () => Promise.reject(new GuestUnreachable('the connection was lost'));
    expect((await take()).status).toBe(201);
    await service.core.background.idle();
    expect(warnings()).toMatchObject([{ sandbox_id: sandboxId, machine_id: service.driver.newest.id }]);
  });

  test('is left alone once the machine is gone', async () => {
    const saves = holdSaves();
    const taking = take();
    await saves.begun;
    await service.call('DELETE', `/v1/sandboxes/${sandboxId}`);
    await taking;
    saves.release();
    await new Promise(setImmediate);
    await service.core.background.idle();
    expect([service.connector.clocksSet, service.connector.attaches.length, warnings()]).toEqual([0, 1, []]);
  });
});

describe('an idempotency key', () => {
  test('returns the same snapshot, also for another body and once the sandbox is gone', async () => {
    const first = await take({ alias: 'a' }, keyed);
    const again = await take({ alias: 'a' }, keyed);
    expect([again.status, again.body.id, again.headers.location]).toEqual([200, first.body.id, undefined]);
    await service.call('DELETE', `/v1/sandboxes/${sandboxId}`);
    expect((await take({ name: 'b' }, keyed)).body).toEqual(first.body);
  });

  test('returns the original for another sandbox of the account, but 404 for one that does not exist', async () => {
    const first = await take({}, keyed);
    const other = (await service.call('POST', '/v1/sandboxes')).body.id;
    const again = await take({}, keyed, other);
    expect([again.status, again.body]).toEqual([200, first.body]);
    expect(refusal(await take({}, keyed, 'sbx_unknown'))).toEqual([404, 'not_found', 'No such sandbox.']);
  });

  test('a repeated request waits for the first, which continues without its caller', async () => {
    const saves = holdSaves();
    const first = take({}, keyed);
    await saves.begun;
    const second = take({}, keyed);
    saves.release();
    const [one, other] = await Promise.all([first, second]);
    expect([one.status, other.status]).toEqual([201, 200]);
    expect(other.body).toEqual(one.body);
    expect(service.driver.stored.size).toBe(1);
  });

  test('a repeated request fails as the first does, and the key is free again', async () => {
    const saves = holdSaves();
    const first = take({}, keyed);
    await saves.begun;
    const second = take({}, keyed);
    service.driver.newest.die('killed');
    expect([(await first).status, (await second).status]).toEqual([409, 409]);
    saves.release();
    sandboxId = (await service.call('POST', '/v1/sandboxes')).body.id;
    expect((await take({}, keyed)).status).toBe(201);
  });

  test('whose request was interrupted by a crash is answered with 503, never with a snapshot that will disappear', async () => {
    const interrupted = {
      id: 'snap_interrupted',
      accountId: 'acct_test',
      sandboxId,
      name: null,
      alias: null,
      size: 'small',
      idempotencyKey: 'k',
      priceMicroUsdPerGbMonth: 0,
      createdAtMs: service.clock.nowMs(),
    } as const;
    await service.store.snapshots.insert(interrupted, () => undefined);
    expect(refusal(await take({}, keyed))).toEqual([
      503,
      'provisioning_failed',
      'An earlier request with this Idempotency-Key was interrupted. Try again in a minute.',
    ]);
    await keepSnapshots(service.core);
    expect((await take({}, keyed)).status).toBe(201);
  });

  test('is free once the snapshot is deleted, and empty it is refused', async () => {
    const { id } = (await take({}, keyed)).body;
    await remove(id);
    const again = await take({}, keyed);
    expect([again.status, again.body.id === id]).toEqual([201, false]);
    expect((await take({}, { 'idempotency-key': '' })).status).toBe(400);
  });
});

describe('listing', () => {
  test('pages are newest first and neither skip nor repeat', async () => {
    const ids: string[] = [];
    for (let count = 0; count < 5; count++) ids.unshift((await take()).body.id);
    const first = await list('?limit=2');
    expect([first.data.map(({ id }) => id), first.has_more]).toEqual([ids.slice(0, 2), true]);
    const second = await list(`?limit=3&starting_after=${first.next_cursor}`);
    expect(second.data.map(({ id }) => id)).toEqual(ids.slice(2));
    expect([second.has_more, second.next_cursor]).toEqual([false, null]);
    expect((await service.call('GET', '/v1/snapshots?limit=0')).status).toBe(400);
  });

  test('another account sees none of it', async () => {
    const { id } = (await take()).body;
    const key = { id: 'key_2', hash: hashApiKey('mf_second'), prefix: 'mf_' };
    const second = { id: 'acct_second', email: 'b@localhost', openingCreditMicroUsd: 1_000_000, createdAtMs: 0, key };
    await service.core.store.accounts.create(second);
    const headers = { authorization: 'Bearer mf_second' };
    expect((await service.call('GET', '/v1/snapshots', undefined, headers)).body.data).toEqual([]);
    for (const method of ['GET', 'DELETE']) {
      expect((await service.call(method, `/v1/snapshots/${id}`, undefined, headers)).status).toBe(404);
    }
    expect((await take({}, headers)).status).toBe(404);
  });
});

describe('deleting', () => {
  test('removes record and files, once', async () => {
    const { id } = (await take({ alias: 'a' })).body;
    const removed = await remove(id);
    expect([removed.status, removed.body]).toEqual([200, { object: 'snapshot', id, deleted: true }]);
    expect([(await get(id)).status, (await remove(id)).status]).toEqual([404, 404]);
    await service.core.background.idle();
    expect(service.driver.stored.size).toBe(0);
    expect((await take({ alias: 'a' })).status).toBe(201);
    await service.core.audit.flush();
    const [event] = await service.store.audit.list({ limit: 100, target: id });
    expect(event).toMatchObject({ action: 'deleteSnapshot' });
  });

  test('shared files count for the next snapshot', async () => {
    const [older, newer] = [(await take()).body.id, (await take()).body.id];
    const shared = { id: 'shared', bytes: 1_000_000 };
    for (const id of [older, newer]) {
      const stored = service.driver.stored.get(id);
      if (stored !== undefined) service.driver.stored.set(id, { ...stored, files: [...stored.files, shared] });
    }
    await remove(older);
    await keepSnapshots(service.core);
    expect((await get(newer)).body.bytes).toBe(stubFileBytes + 1_000_000);
  });

  test('files that cannot be deleted are not shown, and do not fail the call', async () => {
    const { id } = (await take()).body;
    service.driver.deleteSnapshot = () => Promise.reject(new HostUnavailable('the host process is not available'));
    expect((await remove(id)).status).toBe(200);
    await service.core.background.idle();
    expect((await list()).data).toEqual([]);
  });

  test('one that is being taken: it is gone, the request that takes it answers 503, and nothing is left', async () => {
    const saves = holdSaves();
    const taking = take();
    await saves.begun;
    const id = (await list()).data[0]?.id ?? '';
    expect((await remove(id)).status).toBe(200);
    saves.release();
    expect(refusal(await taking)).toEqual([
      503,
      'provisioning_failed',
      'The snapshot was deleted while it was being taken.',
    ]);
    await service.core.background.idle();
    expect([service.driver.stored.size, (await list()).data]).toEqual([0, []]);
  });
});

describe('errors', () => {
  test('an alias that is taken', async () => {
    await take({ alias: 'web' });
    expect(refusal(await take({ alias: 'web' }))).toEqual([
      400,
      'invalid_request',
      'another snapshot of this account has the alias "web": delete that snapshot first, or choose another alias',
    ]);
    expect((await take({ alias: 'small' })).status).toBe(400);
  });

  test('a sandbox that does not exist, is deleted, or is not running', async () => {
    expect((await take({}, {}, 'sbx_unknown')).body.error.type).toBe('not_found');
    service.driver.newest.die('killed by SIGKILL');
    await service.core.background.idle();
    const [status, type, message] = refusal(await take());
    expect([status, type]).toEqual([409, 'sandbox_not_running']);
    expect(message).toContain('machine_died: killed by SIGKILL');
    await service.call('DELETE', `/v1/sandboxes/${sandboxId}`);
    expect(refusal(await take())).toEqual([404, 'not_found', 'No such sandbox.']);
  });

  test('a sandbox that ends while it is saved', async () => {
    const saves = holdSaves();
    const taking = take();
    await saves.begun;
    await service.call('DELETE', `/v1/sandboxes/${sandboxId}`);
    expect((await taking).status).toBe(404);
    expect((await list()).data).toEqual([]);
    const files: number[] = [];
    service.driver.deleteSnapshot = async (id) => {
      files.push(service.driver.stored.size);
      service.driver.stored.delete(id);
    };
    saves.release();
    await expect.poll(() => files).toEqual([1]);
    expect(service.driver.stored.size).toBe(0);
  });

  test('no credit, unless neither the sandbox nor its snapshots have a price', async () => {
    const broke = async (on: Service) => {
      const { id } = (await on.call('POST', '/v1/sandboxes')).body;
      const debit = { id: 'led_test', accountId: 'acct_test', createdAtMs: on.clock.nowMs(), note: '' };
      await on.store.ledger.addCredit({ ...debit, amountMicroUsd: -100_000_000 });
      return on.call('POST', `/v1/sandboxes/${id}/snapshots`);
    };
    expect(refusal(await broke(service))).toEqual([
      402,
      'insufficient_credits',
      'The balance has reached zero. Add credit to take snapshots.',
    ]);
    await using free = await stubService({}, { MAYFLY_PRICE_SMALL: '0' });
    expect((await broke(free)).status).toBe(201);
    await using stored = await stubService({}, { MAYFLY_PRICE_SMALL: '0', MAYFLY_PRICE_SNAPSHOT_GB_MONTH: '0.1' });
    expect((await broke(stored)).status).toBe(402);
  });

  test('too many snapshots, even if they are requested at once', async () => {
    await service.core.store.accounts.setLimits('acct_test', { snapshots: 2 });
    const answers = await Promise.all([take(), take(), take(), take()]);
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(2);
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(2);
    expect(refusal(await take())).toEqual([
      429,
      'quota_exceeded',
      'This account is limited to 2 snapshots. Delete one first.',
    ]);
    await remove((await list()).data[0]?.id ?? '');
    expect((await take()).status).toBe(201);
  });

  test('too much disk space', async () => {
    await service.core.store.accounts.setLimits('acct_test', { snapshotStorageMb: 1 });
    const { id } = (await take()).body;
    await service.store.snapshots.resize(id, 1024 ** 2, service.clock.nowMs());
    expect(refusal(await take())).toEqual([
      429,
      'quota_exceeded',
      'The snapshots of this account take 1 MiB of disk space, and the limit is 1 MiB. Delete one first.',
    ]);
  });

  test('too much disk space together with the snapshots in progress, but not with the saves of forks', async () => {
    await service.core.store.accounts.setLimits('acct_test', { snapshotStorageMb: 3 });
    const other = (await service.call('POST', '/v1/sandboxes')).body.id;
    const saves = holdSaves();
    const [original = service.driver.newest] = service.driver.machines;
    original.beforeSaved = service.driver.newest.beforeSaved;
    for (const machine of service.driver.machines) machine.used = { memoryBytes: 2 * 1024 ** 2, diskBytes: 0 };
    const forking = service.call('POST', `/v1/sandboxes/${other}/fork`);
    await saves.begun;
    const taking = [take(), take()];
    await expect.poll(async () => (await list()).data.length).toBe(2);
    expect(refusal(await take())).toEqual([
      429,
      'quota_exceeded',
      'The snapshots of this account take 0 bytes of disk space, those in progress may need 4 MiB, and the limit is 3 MiB. Wait until they are ready, or delete one first.',
    ]);
    saves.release();
    expect((await Promise.all([...taking, forking])).map(({ status }) => status)).toEqual([201, 201, 201]);
    expect((await take()).status).toBe(201);
  });

  test('too little disk on the host, before and during the save', async () => {
    service.driver.newest.used = { memoryBytes: 2 ** 60, diskBytes: 0 };
    const full = [503, 'capacity_unavailable', 'The host has too little free disk for a snapshot. Try again later.'];
    expect(refusal(await take())).toEqual(full);
    service.driver.newest.used = { memoryBytes: 0, diskBytes: 0 };
    service.driver.newest.beforeSaved = () => Promise.reject(new HostFull('no space left on device'));
    expect(refusal(await take())).toEqual([
      503,
      'capacity_unavailable',
      'The snapshot could not be taken: the host has too little free disk for a snapshot. Try again later.',
    ]);
    expect((await list()).data).toEqual([]);
  });

  test('the host process is away, before and during the save', async () => {
    const away = [503, 'capacity_unavailable', 'Snapshots cannot be taken at the moment. Try again later.'];
    service.driver.available = false;
    expect(refusal(await take())).toEqual(away);
    service.driver.available = true;
    service.driver.newest.beforeSaved = () => Promise.reject(new HostUnavailable('the connection was lost'));
    expect(refusal(await take())).toEqual([
      503,
      'capacity_unavailable',
      'The snapshot could not be taken: machines cannot be saved at the moment. Try again later.',
    ]);
    service.setReadiness('stopping');
    expect((await take()).body.error.type).toBe('capacity_unavailable');
  });

  test('a save that fails tells nothing of the host, leaves nothing, and frees key and alias', async () => {
    service.driver.newest.beforeSaved = () => Promise.reject(new Error('qemu: cannot open /var/lib/mayfly/x'));
    expect(refusal(await take({ alias: 'a' }, keyed))).toEqual([
      503,
      'provisioning_failed',
      'The snapshot could not be taken: the machine could not be saved. Try again later.',
    ]);
    expect(service.logged.find((line) => line.event === 'snapshot_failed')).toMatchObject({ sandbox_id: sandboxId });
    expect((await list()).data).toEqual([]);
    service.driver.newest.beforeSaved = async () => {};
    expect((await take({ alias: 'a' }, keyed)).status).toBe(201);
  });

  test('a save that takes too long is abandoned, and its files are deleted once they are there', async () => {
    await using slow = await stubService({ saveMs: 20 });
    const { id } = (await slow.call('POST', '/v1/sandboxes')).body;
    const saved = Promise.withResolvers<void>();
    slow.driver.newest.beforeSaved = () => saved.promise;
    const answer = await slow.call('POST', `/v1/sandboxes/${id}/snapshots`);
    expect(refusal(answer)).toEqual([
      503,
      'provisioning_failed',
      'The snapshot could not be taken: it took too long. Try again later.',
    ]);
    saved.resolve();
    await expect.poll(() => slow.driver.stored.size).toBe(0);
    expect((await slow.call('GET', '/v1/snapshots')).body.data).toEqual([]);
  });

  test('a save that waits too long for its turn never starts; one that has started keeps its machine until it ends', async () => {
    await using slow = await stubService({ saveMs: 20 });
    const ids: string[] = [];
    for (let count = 0; count < 3; count++) ids.push((await slow.call('POST', '/v1/sandboxes')).body.id);
    const ended = Promise.withResolvers<void>();
    const started: number[] = [];
    slow.driver.machines.forEach((machine, index) => {
      machine.beforeSaved = () => {
        started.push(index);
        return ended.promise;
      };
    });
    const takeOf = (id?: string) => slow.call('POST', `/v1/sandboxes/${id}/snapshots`);
    const first = await Promise.all(ids.map(takeOf));
    expect(first.map(({ status }) => status)).toEqual([503, 503, 503]);
    const again = await Promise.all([takeOf(ids[0]), slow.call('POST', `/v1/sandboxes/${ids[0]}/fork`)]);
    expect(again.map(({ status }) => status)).toEqual([503, 503]);
    expect(started).toEqual([0, 1]);
    ended.resolve();
    await expect.poll(async () => (await takeOf(ids[2])).status).toBe(201);
    expect(started).toEqual([0, 1, 2]);
    await slow.core.background.idle();
    expect(slow.driver.stored.size).toBe(1);
  });

  test('the service stops while it saves a machine: it does not wait for that, and no half snapshot is listed', async () => {
    const saves = holdSaves();
    const taking = take();
    await saves.begun;
    await detachAllSandboxes(service.core);
    expect(refusal(await taking)).toEqual([
      503,
      'provisioning_failed',
      'The snapshot could not be taken: the service is stopping. Try again later.',
    ]);
    expect((await list()).data).toEqual([]);
    saves.release();
  });

  test('a suspended account', async () => {
    await service.core.store.accounts.setSuspended('acct_test', true);
    expect((await take()).body.error.type).toBe('account_suspended');
  });
});
