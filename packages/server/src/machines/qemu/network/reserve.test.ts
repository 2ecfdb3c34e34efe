import { expect, test } from 'vitest';
import type { Holdings } from '../holdings.ts';
import { runStep } from '../steps.ts';
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
  const acquire = async ({ slot }: SlotLease, holdings: Holdings): Promise<MachineNetwork> => {
    made.add(slot);
    const release = async (): Promise<void> => {
      made.delete(slot);
    };
    holdings.hold('release network', release);
    if (isBroken) throw new Error('broken');
    return { slot, netnsPath: '', tapName: 'tap0', setEgress: async () => {}, release };
  };
  const pool: NetworkPool = {
    acquire,
    adopt: (slot, holdings) => acquire({ slot, uid: 1 }, holdings),
    sweep: async () => 0,
    close: async () => {},
  };
  const breakIt = (): void => {
    isBroken = true;
  };
  const discard = (holdings: Holdings): Promise<void> => holdings.release();
  const open = (size: number) => new NetworkReserve({ pool, leases, size, log, step: runStep, discard });
  return { leased, made, open, breakIt };
};

test('a few are made ahead, and one that is taken is made good', async () => {
  const { open, made } = stand();
  const reserve = open(2);
  await reserve.fill();
  expect(made.size).toBe(2);
  const taken = await reserve.take();
  await reserve.fill();
  expect(made.size).toBe(3);
  await taken.holdings.release();
  expect(made.size).toBe(2);
  await reserve.close();
  expect(made.size).toBe(0);
});

test('an empty reserve makes one at once, and a failure gives back the slot with what was made of its network', async () => {
  const { open, made, leased, breakIt } = stand();
  const reserve = open(0);
  expect((await reserve.take()).network.slot).toBe(0);
  breakIt();
  await expect(reserve.take()).rejects.toThrow('broken');
  expect([[...leased], [...made]]).toEqual([[0], [0]]);
});
