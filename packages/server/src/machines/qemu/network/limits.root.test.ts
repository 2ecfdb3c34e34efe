import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { canOpenNetworkLab, NetworkLab } from '../../../../test/network/network-lab.ts';
import type { RpcChild } from '../../../../test/network/rpc.ts';

const megabit = 1_000_000;

interface Attempts {
  /** How many connections were opened. */
  readonly open: number;
  /** How long all attempts took. */
  readonly ms: number;
}

describe.runIf(canOpenNetworkLab)('network limits of a machine', () => {
  let lab: NetworkLab;
  let internet: RpcChild;

  const machine = async (slot: number, limits: object): Promise<RpcChild> => {
    const hostProcess = await lab.hostProcess(`owner ${slot}`, {
      bandwidthBitsPerSecond: 200 * megabit,
      connections: 4096,
      newConnectionsPerSecond: 512,
      packetsPerSecond: 50_000,
      ...limits,
    });
    await hostProcess.ask('create', { slot, uid: 70_000 + slot });
    return lab.guest(slot, 70_000 + slot);
  };

  beforeAll(async () => {
    ({ lab, internet } = await NetworkLab.open());
    await internet.ask('listenSource', { port: 81 });
    await internet.ask('countUdp', { port: 123, address: '203.0.113.1' });
  }, 60_000);

  afterAll(async () => lab[Symbol.asyncDispose]());

  test('bandwidth is limited in both directions, per machine', async () => {
    const slow = await machine(1, { bandwidthBitsPerSecond: 8 * megabit });
    const fast = await machine(2, {});
    const order = { host: '203.0.113.1', port: 81, bytes: 2_000_000 };
    const slowly = await slow.ask<number>('download', order);
    expect(slowly).toBeLessThan(9.5 * megabit);
    expect(await slow.ask<number>('upload', { ...order, port: 80 })).toBeLessThan(9.5 * megabit);
    expect(await fast.ask<number>('download', order)).toBeGreaterThan(2 * slowly);
  });

  test('concurrent connections are limited', async () => {
    const guest = await machine(3, { connections: 20 });
    expect(await guest.ask('openMany', { host: '203.0.113.1', port: 80, count: 30 })).toMatchObject({ open: 20 });
  });

  test('new connections per second are limited', async () => {
    const guest = await machine(4, { newConnectionsPerSecond: 10 });
    const { open, ms } = await guest.ask<Attempts>('openMany', { host: '203.0.113.1', port: 80, count: 60 });
    expect(open).toBeGreaterThanOrEqual(10);
    expect(open).toBeLessThanOrEqual(10 + Math.ceil((10 * ms) / 1000));
  });

  test('name lookups of all machines together are limited, and others are answered afterwards', async () => {
    await internet.ask('serveDns', { address: '203.0.113.53', ttlSeconds: 1, names: { 'a.test': ['203.0.113.1'] } });
    const lookupsPerSecond = 50;
    const hostProcess = await lab.hostProcess('lookups', undefined, { lookupsPerSecond });
    const guests = await Promise.all(
      [6, 7].map(async (slot) => {
        await hostProcess.ask('create', { slot, uid: 70_000 + slot });
        return await lab.guest(slot, 70_000 + slot);
      }),
    );
    const [busy, quiet] = guests;
    const startedAtMs = performance.now();
    const answered = await busy?.ask<number>('lookUpMany', { name: 'a.test', count: 300 });
    const seconds = (performance.now() - startedAtMs) / 1000;
    console.log(`${answered} of 300 lookups were answered`);
    expect(answered).toBeGreaterThan(0);
    expect(answered).toBeLessThanOrEqual(2 * lookupsPerSecond + Math.ceil(seconds * lookupsPerSecond));
    await expect.poll(() => quiet?.ask('lookup', { name: 'a.test' })).toBe('203.0.113.1');
  });

  test('packets per second are limited', async () => {
    const guest = await machine(5, { packetsPerSecond: 100 });
    const { ms } = await guest.ask<Attempts>('floodUdp', { host: '203.0.113.1', port: 123, count: 3000 });
    await guest.ask('connect', { host: '203.0.113.1', port: 80 });
    expect(await internet.ask<number>('countedOn', { port: 123 })).toBeGreaterThan(0);
    expect(await internet.ask<number>('countedOn', { port: 123 })).toBeLessThanOrEqual(
      100 + Math.ceil((100 * ms) / 1000),
    );
  });
});
