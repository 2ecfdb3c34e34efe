import type { SizeName } from '@mayfly/contract';
import { describe, expect, test } from 'vitest';
import { StubMachine } from '../../../test/core/stub-driver.ts';
import { StubConnector } from '../../../test/core/stub-guest.ts';
import { RecordedLog } from '../../../test/recorded-log.ts';
import { LiveMachine } from '../machines/live-machine.ts';
import { HostFull, HostUnavailable } from '../ports/machine-driver.ts';
import { noMetrics } from '../ports/metrics.ts';
import { type MachineSource, Pool, type PoolOptions, type PoolTargets } from './pool.ts';

const log = { debug() {}, info() {}, warn() {}, error() {} };

/** A pool of stub machines; `made` lists all that it ever made. */
function stubPool(targets: PoolTargets, more: Partial<PoolOptions> = {}) {
  const made: StubMachine[] = [];
  const state = { makingAtOnce: 0, mostAtOnce: 0, fail: false };
  const make = async (source: MachineSource) => {
    state.makingAtOnce += 1;
    state.mostAtOnce = Math.max(state.mostAtOnce, state.makingAtOnce);
    await new Promise(setImmediate);
    state.makingAtOnce -= 1;
    if (state.fail) throw new Error('no');
    const machine = new StubMachine({ id: `pool_${made.length}`, ...source });
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
  expect(pool.claim({ size: 'small' })).toBeUndefined();
  expect(made).toHaveLength(0);
  pool.start();
  await full(pool, 'small', 2);
  await full(pool, 'large', 1);
  expect([made.length, state.mostAtOnce, pool.claim({ size: 'medium' })]).toEqual([3, 3, undefined]);
  await pool[Symbol.asyncDispose]();
});

test('twenty claims at once get each machine once, and the pool makes no more than were claimed', async () => {
  const { pool, made } = stubPool({ small: 1 });
  pool.start();
  await full(pool, 'small', 1);
  const claimed = Array.from({ length: 20 }, () => pool.claim({ size: 'small' })).filter(
    (machine) => machine !== undefined,
  );
  expect(claimed).toHaveLength(1);
  await full(pool, 'small', 1);
  expect(made).toHaveLength(2);
  expect(pool.claim({ size: 'small' })).not.toBe(claimed[0]);
  await pool[Symbol.asyncDispose]();
});

test('a machine that dies in the pool is replaced and never claimed', async () => {
  const { pool, made } = stubPool({ small: 1 });
  pool.start();
  await full(pool, 'small', 1);
  made[0]?.die('killed');
  await expect.poll(() => made.length).toBe(2);
  await full(pool, 'small', 1);
  expect(pool.claim({ size: 'small' })?.machine.id).toBe('pool_1');
  expect(made[0]?.destroyed).toBe(true);
  await pool[Symbol.asyncDispose]();
});

test('asks for room beside the other machines of the pool, not beside the one that is made', async () => {
  const asked: number[] = [];
  const { pool } = stubPool({ small: 2, large: 1 }, { requireRoom: (pooledMachines) => asked.push(pooledMachines) });
  pool.start();
  await full(pool, 'small', 2);
  await full(pool, 'large', 1);
  expect(asked.toSorted((a, b) => a - b)).toEqual([0, 1, 2]);
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
  expect(pool.claim({ size: 'small' })).toBeUndefined();
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

describe('templates', () => {
  const web = { email: 'a@localhost', alias: 'web', count: 2 };
  /** A pool of copies of one template, whose alias stands for `current`. */
  const templatePool = (targets: PoolTargets = {}) => {
    const aliases: { current: MachineSource | undefined } = { current: undefined };
    const findTemplate = async () => aliases.current;
    return { ...stubPool(targets, { templates: [web], findTemplate }), aliases };
  };
  const first = { size: 'medium', snapshotId: 'snap_1' } as const;
  const second = { size: 'medium', snapshotId: 'snap_2' } as const;

  test('an alias that does not exist yet is quietly waited for; its copies are claimed only by its snapshot', async () => {
    const { pool, made, aliases } = templatePool({ medium: 1 });
    pool.start();
    await full(pool, 'medium', 1);
    await pool.refreshTemplates();
    expect([pool.target('medium'), pool.claim(first)]).toEqual([1, undefined]);
    aliases.current = first;
    await pool.refreshTemplates();
    await full(pool, 'medium', 3);
    expect([pool.target('medium'), pool.size]).toEqual([3, 3]);
    expect(made.map(({ snapshotId }) => snapshotId)).toEqual([undefined, 'snap_1', 'snap_1']);
    expect(pool.claim(second)).toBeUndefined();
    expect(pool.claim(first)?.machine).toBe(made[1]);
    expect(pool.claim({ size: 'medium' })?.machine).toBe(made[0]);
    await full(pool, 'medium', 3);
    await pool[Symbol.asyncDispose]();
  });

  test('copies of a snapshot that lost its alias are replaced; copies of a deleted template are destroyed', async () => {
    const { pool, made, aliases } = templatePool();
    aliases.current = first;
    pool.start();
    await pool.refreshTemplates();
    await full(pool, 'medium', 2);
    aliases.current = second;
    await pool.refreshTemplates();
    expect(pool.claim(first)).toBeUndefined();
    await expect.poll(() => made.map(({ destroyed }) => destroyed)).toEqual([true, true, false, false]);
    await full(pool, 'medium', 2);
    aliases.current = undefined;
    await pool.refreshTemplates();
    await expect.poll(() => made.every(({ destroyed }) => destroyed)).toBe(true);
    expect([pool.size, made.length]).toEqual([0, 4]);
    await pool[Symbol.asyncDispose]();
  });

  test('a copy that is being made while its alias moves is not kept', async () => {
    const { pool, made, aliases } = templatePool();
    aliases.current = first;
    pool.start();
    await pool.refreshTemplates();
    aliases.current = second;
    await pool.refreshTemplates();
    await full(pool, 'medium', 2);
    const kept = made.filter(({ destroyed }) => !destroyed);
    expect(kept.map(({ snapshotId }) => snapshotId)).toEqual(['snap_2', 'snap_2']);
    await pool[Symbol.asyncDispose]();
  });
});
