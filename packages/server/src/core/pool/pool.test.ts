import type { SizeName } from '@mayfly/contract';
import { expect, test } from 'vitest';
import { StubMachine } from '../../../test/core/stub-driver.ts';
import { StubConnector } from '../../../test/core/stub-guest.ts';
import { RecordedLog } from '../../../test/recorded-log.ts';
import { LiveMachine } from '../machines/live-machine.ts';
import { HostFull, HostUnavailable } from '../ports/machine-driver.ts';
import { noMetrics } from '../ports/metrics.ts';
import { Pool, type PoolOptions, type PoolTargets } from './pool.ts';

const log = { debug() {}, info() {}, warn() {}, error() {} };

/** A pool of stub machines; `made` lists all that it ever made. */
function stubPool(targets: PoolTargets, more: Partial<PoolOptions> = {}) {
  const made: StubMachine[] = [];
  const state = { makingAtOnce: 0, mostAtOnce: 0, fail: false };
  const make = async (size: SizeName) => {
    state.makingAtOnce += 1;
    state.mostAtOnce = Math.max(state.mostAtOnce, state.makingAtOnce);
    await new Promise(setImmediate);
    state.makingAtOnce -= 1;
    if (state.fail) throw new Error('no');
    const machine = new StubMachine({ id: `pool_${made.length}`, size });
    made.push(machine);
    return new LiveMachine(machine, new StubConnector(), 1_000);
  };
  const destroy = (machine: LiveMachine) => machine.destroy();
  const pool = new Pool({ targets, make, destroy, requireRoom: () => {}, log, metrics: noMetrics, ...more });
  return { pool, made, state };
}

/** Refuses machines while there is no room. */
const roomIf = (hasRoom: () => boolean) => () => {
  if (!hasRoom()) throw new HostFull('no room');
};

const full = async (pool: Pool, size: SizeName, count: number) =>
  await expect.poll(() => pool.readyCount(size)).toBe(count);

test('fills up once started, never beyond its targets', async () => {
  const { pool, made, state } = stubPool({ small: 2, large: 1 });
  expect(pool.claim('small')).toBeUndefined();
  expect(made).toHaveLength(0);
  pool.start();
  await full(pool, 'small', 2);
  await full(pool, 'large', 1);
  expect([made.length, state.mostAtOnce, pool.claim('medium')]).toEqual([3, 3, undefined]);
  await pool[Symbol.asyncDispose]();
});

test('twenty claims at once get each machine once, and the pool makes no more than were claimed', async () => {
  const { pool, made } = stubPool({ small: 1 });
  pool.start();
  await full(pool, 'small', 1);
  const claimed = Array.from({ length: 20 }, () => pool.claim('small')).filter((machine) => machine !== undefined);
  expect(claimed).toHaveLength(1);
  await full(pool, 'small', 1);
  expect(made).toHaveLength(2);
  expect(pool.claim('small')).not.toBe(claimed[0]);
  await pool[Symbol.asyncDispose]();
});

test('a machine that dies in the pool is replaced and never claimed', async () => {
  const { pool, made } = stubPool({ small: 1 });
  pool.start();
  await full(pool, 'small', 1);
  made[0]?.die('killed');
  await expect.poll(() => made.length).toBe(2);
  await full(pool, 'small', 1);
  expect(pool.claim('small')?.machine.id).toBe('pool_1');
  expect(made[0]?.destroyed).toBe(true);
  await pool[Symbol.asyncDispose]();
});

test('waits until the host has room', async () => {
  let room = false;
  const { pool, made } = stubPool({ small: 1 }, { requireRoom: roomIf(() => room) });
  pool.start();
  await new Promise(setImmediate);
  expect(made).toHaveLength(0);
  room = true;
  await expect.poll(() => pool.readyCount('small')).toBe(1);
  await pool[Symbol.asyncDispose]();
});

test('while the host process is away, says so once and stays ready to refill soon after its return', async () => {
  let attempts = 0;
  const recorded = new RecordedLog();
  const requireRoom = () => {
    attempts += 1;
    // With pauses that grow, this many attempts would take an hour.
    if (attempts < 20) throw new HostUnavailable('the host process is not available');
  };
  const retryPauses = { firstMs: 5, longestMs: 3_600_000 };
  const { pool } = stubPool({ small: 1 }, { requireRoom, log: recorded, retryPauses });
  pool.start();
  await full(pool, 'small', 1);
  expect(recorded.eventsAt('warn')).toEqual(['pool_refill_failed']);
  expect(String(recorded.lines[0]?.fields.err)).toContain('the host process is not available');
  await pool[Symbol.asyncDispose]();
});

test('evicts ready machines to make room for sandboxes, largest first', async () => {
  const { pool, made } = stubPool({ small: 1, large: 1 });
  pool.start();
  await full(pool, 'small', 1);
  await full(pool, 'large', 1);
  pool.evict(1);
  await expect.poll(() => made.filter(({ destroyed }) => destroyed).map(({ size }) => size)).toEqual(['large']);
  await pool[Symbol.asyncDispose]();
});

test('disposing destroys all machines, including those being made', async () => {
  const { pool, made } = stubPool({ small: 3 });
  pool.start();
  await pool[Symbol.asyncDispose]();
  expect(made.every(({ destroyed }) => destroyed)).toBe(true);
  expect(pool.claim('small')).toBeUndefined();
});

test('gives up all ready machines when memory is short, and replaces them once the host has room', async () => {
  let room = true;
  const { pool, made } = stubPool({ small: 2 }, { requireRoom: roomIf(() => room) });
  pool.start();
  await full(pool, 'small', 2);
  room = false;
  expect(await pool.evictAll()).toBe(2);
  expect(made.map(({ destroyed }) => destroyed)).toEqual([true, true]);
  expect(await pool.evictAll()).toBe(0);
  room = true;
  await full(pool, 'small', 2);
  expect(made).toHaveLength(4);
  await pool[Symbol.asyncDispose]();
});
