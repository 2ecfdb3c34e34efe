import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { canOpenLaboratory, Laboratory } from '../../../../test/network/laboratory.ts';
import type { RpcChild } from '../../../../test/network/rpc-child.ts';
import { checkNetworkSupport } from './check-support.ts';
import type { Problem } from './host/problem.ts';

/** The part of Docker's rules that stands in the way. */
const dockerRules = `nft -f - <<'END'
table ip filter {
  chain DOCKER-USER { counter return; }
  chain FORWARD { type filter hook forward priority filter; policy drop; jump DOCKER-USER; }
}
END
`;

describe.runIf(canOpenLaboratory)('networks on a host', { timeout: 30_000 }, () => {
  let laboratory: Laboratory;
  let internet: RpcChild;

  const reach = async (from: RpcChild, host = '203.0.113.1'): Promise<string> =>
    (await from.ask<{ outcome: string }>('connect', { host, port: 80 })).outcome;
  const acquire = (service: RpcChild, slot: number): Promise<string> =>
    service.ask('acquire', { slot, uid: 70_000 + slot });
  const guestOf = (slot: number): Promise<RpcChild> => laboratory.guest(slot, 70_000 + slot);
  const problemsOf = (service: RpcChild): Promise<Problem[]> => service.ask('problems');

  beforeEach(async () => {
    ({ laboratory, internet } = await Laboratory.open());
    await internet.ask('serveDns', { address: '203.0.113.53', ttlSeconds: 1, names: { 'a.test': ['203.0.113.1'] } });
  }, 60_000);

  afterEach(async () => laboratory[Symbol.asyncDispose]());

  test('the last network leaves the host exactly as it was', async () => {
    const before = laboratory.snapshot();
    const service = await laboratory.service();
    await acquire(service, 0);
    await acquire(service, 4095);
    expect(await reach(await guestOf(4095))).toBe('open');
    expect(laboratory.snapshot()).not.toBe(before);
    await service.ask('release', { slot: 0 });
    await service.ask('release', { slot: 4095 });
    await service.ask('release', { slot: 4095 });
    await service.ask('close');
    expect(laboratory.snapshot()).toBe(before);
  });

  test("Docker's drop policy is no obstacle, and Docker's chain is left as it was", async () => {
    laboratory.sh(dockerRules);
    const before = laboratory.snapshot();
    const service = await laboratory.service();
    await acquire(service, 1);
    const guest = await guestOf(1);
    expect(await reach(guest)).toBe('open');
    expect(await reach(guest, '192.168.77.2')).toBe('EHOSTUNREACH');
    expect(await problemsOf(service)).toEqual([]);
    await service.ask('release', { slot: 1 });
    await service.ask('close');
    const untouched = (text: string): string => text.replace(/packets \d+ bytes \d+/g, '');
    expect(untouched(laboratory.snapshot())).toBe(untouched(before));
  });

  test('Docker that comes later, and rules that others flush, are mended', async () => {
    const service = await laboratory.service();
    await acquire(service, 1);
    const guest = await guestOf(1);
    laboratory.sh(dockerRules);
    expect(await reach(guest)).toBe('silent');
    await service.ask('mend');
    expect(await reach(guest)).toBe('open');
    laboratory.sh('nft flush ruleset; sysctl -qw net.ipv4.ip_forward=1; sysctl -qw net.ipv4.ip_forward=0');
    await service.ask('mend');
    expect(await reach(guest)).toBe('open');
    expect(await reach(guest, '203.0.113.10')).toBe('ECONNREFUSED');
  });

  test('a foreign drop policy without a place for exceptions is named with the remedy', async () => {
    laboratory.sh(
      'nft add table ip strict; nft "add chain ip strict passing { type filter hook forward priority 0; policy drop; }"',
    );
    const service = await laboratory.service();
    const [problem] = await problemsOf(service);
    expect(problem?.what).toContain('"ip strict passing" drops forwarded packets');
    expect(problem?.remedy).toContain('198.19.192.0/19');
    expect(await service.ask('events')).toContain('network_problem');
  });

  test('forwarding that the host had on stays on', async () => {
    laboratory.sh('sysctl -qw net.ipv4.ip_forward=1');
    const before = laboratory.snapshot();
    const service = await laboratory.service();
    await acquire(service, 1);
    laboratory.sh('ip route add 192.168.77.0/24 via 203.0.113.10', internet.pid);
    expect(await reach(internet, '192.168.77.2')).toBe('open');
    await service.ask('release', { slot: 1 });
    await service.ask('close');
    expect(laboratory.snapshot()).toBe(before);
  });

  test('a range that the host has a route to is not used', async () => {
    laboratory.sh('ip route add 198.19.0.0/16 dev lan0');
    const service = await laboratory.service();
    await acquire(service, 1);
    expect(laboratory.sh('ip -4 -o addr show dev mf1')).toContain('10.214.192.2/31');
    expect(await reach(await guestOf(1))).toBe('open');
  });

  test('two services do not disturb each other, and the last one takes the set-up down', async () => {
    const before = laboratory.snapshot();
    const one = await laboratory.service('one');
    const two = await laboratory.service('two');
    await Promise.all([acquire(one, 1), acquire(two, 2), acquire(one, 3), acquire(two, 4)]);
    const guest = await guestOf(2);
    expect(await one.ask('sweep', { liveSlots: [] })).toBe(0);
    await one.ask('release', { slot: 1 });
    await one.ask('release', { slot: 3 });
    await one.ask('close');
    expect(await reach(guest)).toBe('open');
    expect(await guest.ask('lookup', { name: 'a.test' })).toBe('203.0.113.1');
    await two.ask('release', { slot: 2 });
    await two.ask('release', { slot: 4 });
    await two.ask('close');
    expect(laboratory.snapshot()).toBe(before);
  });

  test('a network outlives a killed service: the next one adopts it and sweeps the strays', async () => {
    const before = laboratory.snapshot();
    const first = await laboratory.service();
    await acquire(first, 1);
    await first.ask('setEgress', { slot: 1, egress: { allow: ['a.test'] } });
    await acquire(first, 2);
    const other = await laboratory.service('other');
    await acquire(other, 3);
    const guest = await guestOf(1);
    await guest.ask('lookup', { name: 'a.test' });
    const connection = await guest.ask('hold', { host: '203.0.113.1', port: 80 });
    await first.kill();
    expect(await guest.ask('say', { connection })).toBe('hello');

    const second = await laboratory.service();
    await second.ask('adopt', { slot: 1 });
    expect(await second.ask('sweep', { liveSlots: [1] })).toBe(1);
    expect(
      laboratory
        .sh('ip netns')
        .match(/mayfly-\d/g)
        ?.sort(),
    ).toEqual(['mayfly-1', 'mayfly-3']);
    expect(await guest.ask('say', { connection })).toBe('hello');
    expect(await guest.ask('lookup', { name: 'a.test' })).toBe('203.0.113.1');
    expect(await guest.ask('lookup', { name: 'b.test' })).toBe('ENOTFOUND');
    await expect(second.ask('adopt', { slot: 3 })).rejects.toThrow('slot 3 has no network');

    await second.ask('release', { slot: 1 });
    await second.ask('close');
    await other.ask('release', { slot: 3 });
    await other.ask('close');
    expect(laboratory.snapshot()).toBe(before);
  });

  test('what is left in a leased slot is replaced; what is not ours is never touched', async () => {
    const first = await laboratory.service();
    await acquire(first, 1);
    await first.kill();
    const second = await laboratory.service();
    await acquire(second, 1);
    await expect(acquire(second, 1)).rejects.toThrow('has a network already');
    laboratory.sh('ip link add mf7 type veth peer name foreign');
    await expect(acquire(second, 7)).rejects.toThrow('File exists');
    expect(laboratory.sh('ip netns')).not.toContain('mayfly-7');
    expect(laboratory.sh('ip -o link show mf7')).toContain('foreign');
  });

  test('another user cannot open the tap', async () => {
    const service = await laboratory.service();
    await acquire(service, 1);
    await expect(laboratory.guest(1, 70_002)).rejects.toThrow('operation not permitted');
  });
});

describe.runIf(process.getuid?.() === 0)('support', () => {
  test('a host that runs these tests has all it takes', async () => {
    expect(await checkNetworkSupport()).toEqual([]);
  });

  test('a missing tun device is named with the remedy', async () => {
    const [problem] = await checkNetworkSupport('/dev/missing');
    expect(problem).toMatchObject({
      what: '/dev/missing cannot be opened (ENOENT)',
      remedy: expect.stringContaining('modprobe tun'),
    });
  });
});
