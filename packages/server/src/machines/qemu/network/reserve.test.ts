import { expect, test } from 'vitest';
import type { MachineNetwork, NetworkPool, SlotLease } from './machine-network.ts';
import { NetworkReserve } from './reserve.ts';

const log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

/** A pool and leases in memory, with what they have given out. */
const stand = () => {
  const leased = new Set<number>();
  const made = new Set<number>();
  let isBroken = false;
  let next = 0;
  const leases = {
    take: async (): Promise<SlotLease> => {
      const slot = next++;
      leased.add(slot);
      return { slot, uid: 70_000 + slot };
    },
    give: async ({ slot }: SlotLease): Promise<void> => {
      leased.delete(slot);
    },
  };
  const acquire = async ({ slot }: SlotLease): Promise<MachineNetwork> => {
    if (isBroken) throw new Error('broken');
    made.add(slot);
    const release = async (): Promise<void> => {
      made.delete(slot);
    };
    return { slot, netnsPath: '', tapName: 'tap0', setEgress: async () => {}, release };
  };
  const pool: NetworkPool = {
    acquire,
    adopt: (slot) => acquire({ slot, uid: 1 }),
    sweep: async () => 0,
    close: async () => {},
  };
  const breakIt = (): void => {
    isBroken = true;
  };
  return { leased, made, pool, leases, breakIt };
};

test('a few are made ahead, and one that is taken is made good', async () => {
  const { pool, leases, made } = stand();
  const reserve = new NetworkReserve(pool, leases, 2, log);
  await reserve.fill();
  expect(made.size).toBe(2);
  const taken = await reserve.take();
  await reserve.fill();
  expect(made.size).toBe(3);
  await reserve.give(taken);
  expect(made.size).toBe(2);
  await reserve.close();
  expect(made.size).toBe(0);
});

test('an empty reserve makes one at once, and a failure gives the slot back', async () => {
  const { pool, leases, leased, breakIt } = stand();
  const reserve = new NetworkReserve(pool, leases, 0, log);
  expect((await reserve.take()).network.slot).toBe(0);
  breakIt();
  await expect(reserve.take()).rejects.toThrow('broken');
  expect([...leased]).toEqual([0]);
});
