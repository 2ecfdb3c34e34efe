import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { stubService } from '../../../test/app/stub-service.ts';
import type { StubMachine } from '../../../test/core/stub-driver.ts';
import { defaultHeadroom } from '../admission/capacity.ts';
import { Evictor } from './evictor.ts';

const gibibyte = 1024 ** 3;

let service: Awaited<ReturnType<typeof stubService>>;
beforeEach(async () => {
  service = await stubService();
});
afterEach(() => service[Symbol.asyncDispose]());

/** A host on which only the machines use disk and memory, while these snapshots are being saved. */
function evictorOn(host: {
  readonly diskGib?: number;
  readonly memoryGib?: number;
  readonly serviceGib?: number;
  readonly saving?: string[];
}) {
  const used = (key: 'diskBytes' | 'memoryBytes') =>
    service.driver.machines.reduce((sum, machine) => sum + (machine.destroyed ? 0 : machine.used[key]), 0);
  const ballast = {
    sizeBytes: 64 * 1024 ** 2,
    isHeld: true,
    release: vi.fn(async () => {}),
    hold: vi.fn(async () => {}),
  };
  const stats = () => ({
    diskFreeBytes: (host.diskGib ?? 100) * gibibyte - used('diskBytes'),
    memoryAvailableBytes: (host.memoryGib ?? 100) * gibibyte - used('memoryBytes'),
    machinesMemoryLeftBytes: Number.POSITIVE_INFINITY,
    serviceBytes: (host.serviceGib ?? 0) * gibibyte,
  });
  const core = {
    ...service.core,
    headroom: defaultHeadroom,
    host: { stats },
    ballast,
    snapshotsInFlight: new Set(host.saving),
  };
  return { evictor: new Evictor(core), ballast };
}

async function createUsing(used: Partial<StubMachine['used']>): Promise<string> {
  const { body } = await service.call('POST', '/v1/sandboxes');
  service.driver.newest.used = { memoryBytes: 0, diskBytes: 0, ...used };
  return body.id;
}

const read = async (id: string) => (await service.call('GET', `/v1/sandboxes/${id}`)).body;

test('the sandbox that wrote most ends with a reason, is charged, and the others keep running', async () => {
  const small = await createUsing({ diskBytes: gibibyte });
  const large = await createUsing({ diskBytes: 6 * gibibyte });
  service.clock.advanceMs(60_000);
  const { evictor } = evictorOn({ diskGib: 8 });
  await evictor.check();
  expect(await read(large)).toMatchObject({
    status: 'failed',
    status_reason: 'evicted: the host was running out of disk space, and this sandbox had written the most (6 GiB)',
    ended_at: new Date(service.clock.nowMs()).toISOString(),
  });
  expect((await service.call('POST', `/v1/sandboxes/${large}/exec`, { command: 'true' })).body.error).toMatchObject({
    type: 'sandbox_not_running',
    message: expect.stringContaining('evicted: the host was running out of disk space'),
  });
  expect((await service.store.ledger.summary('acct_test', 0)).spentMicroUsd).toBeGreaterThan(0);
  expect((await read(small)).status).toBe('running');
  expect(service.driver.machines.map(({ destroyed }) => destroyed)).toEqual([false, true]);
});

test('it ends as many as needed at once, and none when none would help', async () => {
  const ids = [await createUsing({ memoryBytes: gibibyte }), await createUsing({ memoryBytes: 2 * gibibyte })];
  await evictorOn({ memoryGib: 1.5 }).evictor.check();
  expect(await Promise.all(ids.map(async (id) => (await read(id)).status))).toEqual(['failed', 'failed']);
  const idle = await createUsing({ memoryBytes: 1024 });
  await evictorOn({ memoryGib: 0.5, diskGib: 1 }).evictor.check();
  expect((await read(idle)).status).toBe('running');
});

test('no sandbox ends for memory that the service itself holds', async () => {
  const id = await createUsing({ memoryBytes: 2 * gibibyte });
  await evictorOn({ memoryGib: 2, serviceGib: 2 }).evictor.check();
  expect((await read(id)).status).toBe('running');
  expect(service.core.host.stats().serviceBytes).toBeGreaterThan(0);
  await evictorOn({ memoryGib: 2 }).evictor.check();
  expect((await read(id)).status).toBe('failed');
});

test('a full disk on which the database cannot write: the machine goes first, and the reason is stored as soon as it can be', async () => {
  const id = await createUsing({ diskBytes: 5 * gibibyte });
  const full = vi.spyOn(service.store.sandboxes, 'change').mockRejectedValue(new Error('database or disk is full'));
  const { evictor, ballast } = evictorOn({ diskGib: 5 });
  await evictor.check();
  expect(ballast.release).toHaveBeenCalled();
  expect(service.driver.newest.destroyed).toBe(true);
  full.mockRestore();
  await evictor.check();
  expect(await read(id)).toMatchObject({ status: 'failed', status_reason: expect.stringMatching(/^evicted: /) });
});

test('a disk that runs short during a save: the save may give its space back first, but nobody waits for it for long', async () => {
  const id = await createUsing({ diskBytes: 6 * gibibyte });
  const { evictor } = evictorOn({ diskGib: 8, saving: ['snap_test'] });
  await evictor.check();
  expect((await read(id)).status).toBe('running');
  service.clock.advanceMs(10_000);
  await evictor.check();
  expect((await read(id)).status).toBe('failed');
});

test('a later shortage waits for its own saves again', async () => {
  const id = await createUsing({ diskBytes: 6 * gibibyte });
  let diskGib = 8;
  const { evictor } = evictorOn({
    get diskGib() {
      return diskGib;
    },
    saving: ['snap_test'],
  });
  await evictor.check();
  diskGib = 100;
  await evictor.check();
  service.clock.advanceMs(3_600_000);
  diskGib = 8;
  await evictor.check();
  expect((await read(id)).status).toBe('running');
});
