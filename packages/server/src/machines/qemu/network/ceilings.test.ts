import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { canOpenLaboratory, Laboratory } from '../../../../test/network/laboratory.ts';
import type { RpcChild } from '../../../../test/network/rpc-child.ts';

const megabit = 1_000_000;

describe.runIf(canOpenLaboratory)('ceilings of one machine', { timeout: 30_000 }, () => {
  let laboratory: Laboratory;
  let internet: RpcChild;

  const machine = async (slot: number, ceilings: object): Promise<RpcChild> => {
    const service = await laboratory.service(`service ${slot}`, {
      bandwidthBitsPerSecond: 200 * megabit,
      connections: 4096,
      newConnectionsPerSecond: 512,
      packetsPerSecond: 50_000,
      ...ceilings,
    });
    await service.ask('acquire', { slot, uid: 70_000 + slot });
    return laboratory.guest(slot, 70_000 + slot);
  };

  beforeAll(async () => {
    ({ laboratory, internet } = await Laboratory.open());
    await internet.ask('listenSource', { port: 81 });
    await internet.ask('countUdp', { port: 123, address: '203.0.113.1' });
  }, 60_000);

  afterAll(async () => laboratory[Symbol.asyncDispose]());

  test('bandwidth is held in both directions, and a machine beside it has its own', async () => {
    const slow = await machine(1, { bandwidthBitsPerSecond: 8 * megabit });
    const fast = await machine(2, {});
    const order = { host: '203.0.113.1', port: 81, bytes: 2_000_000 };
    const slowly = await slow.ask<number>('download', order);
    expect(slowly).toBeGreaterThan(4 * megabit);
    expect(slowly).toBeLessThan(9.5 * megabit);
    expect(await slow.ask<number>('upload', { ...order, port: 80 })).toBeLessThan(9.5 * megabit);
    expect(await fast.ask<number>('download', order)).toBeGreaterThan(20 * megabit);
  });

  test('connections at a time are counted, those over the ceiling are refused', async () => {
    const guest = await machine(3, { connections: 20 });
    expect(await guest.ask('openMany', { host: '203.0.113.1', port: 80, count: 30 })).toBe(20);
  });

  test('new connections per second are limited', async () => {
    const guest = await machine(4, { newConnectionsPerSecond: 10 });
    const open = await guest.ask<number>('openMany', { host: '203.0.113.1', port: 80, count: 60 });
    expect(open).toBeGreaterThanOrEqual(10);
    expect(open).toBeLessThan(30);
  });

  test('packets per second are limited', async () => {
    const guest = await machine(5, { packetsPerSecond: 100 });
    await guest.ask('floodUdp', { host: '203.0.113.1', port: 123, count: 3000 });
    await guest.ask('connect', { host: '203.0.113.1', port: 80 });
    expect(await internet.ask<number>('counted')).toBeGreaterThan(0);
    expect(await internet.ask<number>('counted')).toBeLessThan(600);
  });
});
