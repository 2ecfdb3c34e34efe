import { expect, test } from 'vitest';
import { pinoLog } from '../../../../test/machines/pino-log.ts';
import type { ReleaseStack } from '../release-stack.ts';
import { runStep } from '../steps.ts';
import type { MachineNetwork, SlotLease } from './machine-networks.ts';
import { NetworkPool } from './network-pool.ts';

/** A pool over networks and leases in memory. */
function setUp(size: number) {
  const leased = new Set<number>();
  const created = new Set<number>();
  const { log, lines } = pinoLog();
  let isBroken = false;
  let next = 0;
  const leases = {
    acquire: async (): Promise<SlotLease> => {
      const slot = next++;
      leased.add(slot);
      return { slot, uid: 70_000 + slot };
    },
    release: async ({ slot }: SlotLease): Promise<void> => {
      leased.delete(slot);
    },
  };
  const create = async ({ slot }: SlotLease, releases: ReleaseStack): Promise<MachineNetwork> => {
    created.add(slot);
    const release = async (): Promise<void> => {
      created.delete(slot);
    };
    releases.push('release network', release);
    if (isBroken) throw new Error('broken');
    return { slot, netnsPath: '', tapName: 'tap0', setEgress: async () => {}, release };
  };
  const discard = (releases: ReleaseStack): Promise<void> => releases.release();
  const pool = new NetworkPool({ networks: { create }, leases, size, log, step: runStep, discard });
  const breakCreation = (): void => {
    isBroken = true;
  };
  return { pool, leased, created, lines, breakCreation };
}

test('networks are created in advance, and a claimed one is replaced', async () => {
  const { pool, created } = setUp(2);
  await pool.fill();
  expect(created.size).toBe(2);
  const claimed = await pool.claim();
  await pool.fill();
  expect(created.size).toBe(3);
  await claimed.releases.release();
  expect(created.size).toBe(2);
  await pool[Symbol.asyncDispose]();
  expect(created.size).toBe(0);
});

test('an empty pool creates a network on demand, and a failure releases the slot and the partial network', async () => {
  const { pool, created, leased, breakCreation } = setUp(0);
  expect((await pool.claim()).network.slot).toBe(0);
  breakCreation();
  await expect(pool.claim()).rejects.toThrow('broken');
  expect([[...leased], [...created]]).toEqual([[0], [0]]);
});

test('a failed fill is logged with the error message', async () => {
  const { pool, lines, breakCreation } = setUp(1);
  breakCreation();
  await pool.fill();
  expect(lines()).toMatchObject([{ event: 'network_pool_fill_failed', err: { message: 'broken' } }]);
});
