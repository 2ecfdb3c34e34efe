import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { canOpenNetworkLab, NetworkLab } from '../../../../test/network/network-lab.ts';
import type { RpcChild } from '../../../../test/network/rpc.ts';
import { checkNetworkSupport } from './check-support.ts';

/** A line of a host process's log. */
interface LogLine {
  readonly event: string;
  readonly what?: string;
  readonly remedy?: string;
  readonly err?: { readonly message: string };
}

/** The part of Docker's rules that drops the packets of machines. */
const dockerRules = `nft -f - <<'END'
table ip filter {
  chain DOCKER-USER { counter return; }
  chain FORWARD { type filter hook forward priority filter; policy drop; jump DOCKER-USER; }
}
END
`;

describe.runIf(canOpenNetworkLab)('the networks of a host process', () => {
  let lab: NetworkLab;
  let internet: RpcChild;

  const reach = async (from: RpcChild, host = '203.0.113.1'): Promise<string> =>
    (await from.ask<{ outcome: string }>('connect', { host, port: 80 })).outcome;
  const hold = (from: RpcChild, host: string): Promise<number> => from.ask('hold', { host, port: 80 });
  const create = (hostProcess: RpcChild, slot: number): Promise<string> =>
    hostProcess.ask('create', { slot, uid: 70_000 + slot });
  const guestOf = (slot: number): Promise<RpcChild> => lab.guest(slot, 70_000 + slot);
  const eventsOf = async (hostProcess: RpcChild, name: string): Promise<LogLine[]> =>
    (await hostProcess.ask<LogLine[]>('logLines')).filter(({ event }) => event === name);

  beforeEach(async () => {
    ({ lab, internet } = await NetworkLab.open());
    await internet.ask('serveDns', { address: '203.0.113.53', ttlSeconds: 1, names: { 'a.test': ['203.0.113.1'] } });
  }, 60_000);

  afterEach(async () => lab[Symbol.asyncDispose]());

  test('the host is exactly as before after the last network is released', async () => {
    const before = lab.snapshot();
    const hostProcess = await lab.hostProcess();
    await create(hostProcess, 0);
    await create(hostProcess, 4095);
    expect(await reach(await guestOf(4095))).toBe('open');
    expect(lab.snapshot()).not.toBe(before);
    await hostProcess.ask('release', { slot: 0 });
    await hostProcess.ask('release', { slot: 4095 });
    await hostProcess.ask('release', { slot: 4095 });
    await hostProcess.ask('close');
    expect(lab.snapshot()).toBe(before);
  });

  test("machines get through Docker's drop policy, and Docker's chain is restored afterwards", async () => {
    lab.sh(dockerRules);
    const before = lab.snapshot();
    const hostProcess = await lab.hostProcess();
    await create(hostProcess, 1);
    const guest = await guestOf(1);
    expect(await reach(guest)).toBe('open');
    expect(await reach(guest, '192.168.77.2')).toBe('EHOSTUNREACH');
    expect(await eventsOf(hostProcess, 'network_problem')).toEqual([]);
    await hostProcess.ask('release', { slot: 1 });
    await hostProcess.ask('close');
    const untouched = (text: string): string => text.replace(/packets \d+ bytes \d+/g, '');
    expect(untouched(lab.snapshot())).toBe(untouched(before));
  });

  test('the set-up is repaired after Docker starts and after the rules were flushed', async () => {
    const hostProcess = await lab.hostProcess();
    await create(hostProcess, 1);
    const guest = await guestOf(1);
    lab.sh(dockerRules);
    expect(await reach(guest)).toBe('silent');
    await hostProcess.ask('repair');
    expect(await reach(guest)).toBe('open');
    lab.sh('nft flush ruleset; sysctl -qw net.ipv4.ip_forward=1; sysctl -qw net.ipv4.ip_forward=0');
    await hostProcess.ask('repair');
    expect(await reach(guest)).toBe('open');
    expect(await reach(guest, '203.0.113.10')).toBe('ECONNREFUSED');
  });

  test('a drop policy of another firewall is logged once, with a remedy', async () => {
    lab.sh(
      'nft add table ip strict; nft "add chain ip strict passing { type filter hook forward priority 0; policy drop; }"',
    );
    const hostProcess = await lab.hostProcess();
    const problems = await eventsOf(hostProcess, 'network_problem');
    expect(problems).toHaveLength(1);
    expect(problems[0]?.what).toContain('"ip strict passing" drops forwarded packets');
    expect(problems[0]?.remedy).toContain('198.19.192.0/19');
    await hostProcess.ask('repair');
    expect(await eventsOf(hostProcess, 'network_problem')).toHaveLength(1);
  });

  test('forwarding that was on before stays on', async () => {
    lab.sh('sysctl -qw net.ipv4.ip_forward=1');
    const before = lab.snapshot();
    const hostProcess = await lab.hostProcess();
    await create(hostProcess, 1);
    lab.sh('ip route add 192.168.77.0/24 via 203.0.113.10', internet.pid);
    expect(await reach(internet, '192.168.77.2')).toBe('open');
    await hostProcess.ask('release', { slot: 1 });
    await hostProcess.ask('close');
    expect(lab.snapshot()).toBe(before);
  });

  test('link addresses avoid ranges that the host has a route to', async () => {
    lab.sh('ip route add 198.19.0.0/16 dev lan0');
    const hostProcess = await lab.hostProcess();
    await create(hostProcess, 1);
    expect(lab.sh('ip -4 -o addr show dev mf1')).toContain('10.214.192.2/31');
    expect(await reach(await guestOf(1))).toBe('open');
  });

  test('two host processes do not affect each other, and the last one takes the set-up down', async () => {
    const before = lab.snapshot();
    const one = await lab.hostProcess('one');
    const two = await lab.hostProcess('two');
    await Promise.all([create(one, 1), create(two, 2), create(one, 3), create(two, 4)]);
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
    expect(lab.snapshot()).toBe(before);
  });

  test('a network survives a killed host process: the next one adopts it and sweeps the orphans', async () => {
    const before = lab.snapshot();
    const first = await lab.hostProcess();
    await create(first, 1);
    await first.ask('setEgress', { slot: 1, egress: { allow: ['a.test'] } });
    await create(first, 2);
    const other = await lab.hostProcess('other');
    await create(other, 3);
    const guest = await guestOf(1);
    await guest.ask('lookup', { name: 'a.test' });
    const connection = await guest.ask('hold', { host: '203.0.113.1', port: 80 });
    await first.kill();
    expect(await guest.ask('say', { connection })).toBe('hello');

    const second = await lab.hostProcess();
    await second.ask('adopt', { slot: 1 });
    // Another host process that has leased a slot meanwhile creates a network there at any moment.
    expect(await second.ask('sweep', { liveSlots: [1], foreignSlots: [2] })).toBe(0);
    expect(lab.sh('ip netns')).toContain('mayfly-2');
    expect(await second.ask('sweep', { liveSlots: [1] })).toBe(1);
    expect(
      lab
        .sh('ip netns')
        .match(/mayfly-\d/g)
        ?.sort(),
    ).toEqual(['mayfly-1', 'mayfly-3']);
    expect(await guest.ask('say', { connection })).toBe('hello');
    expect(await guest.ask('lookup', { name: 'a.test' })).toBe('203.0.113.1');
    expect(await guest.ask('lookup', { name: 'b.test' })).toBe('ENOTFOUND');
    await expect(second.ask('adopt', { slot: 3 })).rejects.toThrow('Slot 3 has no network');

    await second.ask('release', { slot: 1 });
    await second.ask('close');
    await other.ask('release', { slot: 3 });
    await other.ask('close');
    expect(lab.snapshot()).toBe(before);
  });

  test('the networks of an owner that is gone for ever are removed, except in slots that others have leased', async () => {
    const before = lab.snapshot();
    const gone = await lab.hostProcess('gone');
    for (const slot of [1, 2]) await create(gone, slot);
    await gone.kill();
    const hostProcess = await lab.hostProcess();
    expect(await hostProcess.ask('reclaim', { owner: 'gone', slots: [1] })).toBe(1);
    expect(lab.sh('ip netns; ls /run/mayfly/networks').match(/mayfly-\d|\d.json/g)).toEqual(['mayfly-2', '2.json']);
    expect(await hostProcess.ask('reclaim', { owner: 'gone', slots: [1, 2] })).toBe(1);
    await hostProcess.ask('close');
    expect(lab.snapshot()).toBe(before);
  });

  test("the operator's ranges are refused, also to machines that were created before they were set", async () => {
    const first = await lab.hostProcess();
    await create(first, 1);
    await first.ask('setEgress', { slot: 1, egress: { allow: ['203.0.113.0/24', 'a.test'] } });
    const guest = await guestOf(1);
    const [kept, cut] = [await hold(guest, '203.0.113.1'), await hold(guest, '203.0.113.2')];
    await first.kill();

    const second = await lab.hostProcess('one', undefined, { refusedRanges: ['203.0.113.2', '203.0.113.128/25'] });
    await second.ask('adopt', { slot: 1 });
    expect(await reach(guest, '203.0.113.2')).toBe('EHOSTUNREACH');
    expect(await reach(guest)).toBe('open');
    expect(await guest.ask('say', { connection: kept })).toBe('hello');
    expect(await guest.ask('say', { connection: cut })).not.toBe('hello');
    expect(await reach(guest, '198.51.100.1')).toBe('EHOSTUNREACH');
    await create(second, 2);
    expect(await reach(await guestOf(2), '203.0.113.2')).toBe('EHOSTUNREACH');
  });

  test('leftovers in a leased slot are replaced, and links of others are never touched', async () => {
    const first = await lab.hostProcess();
    await create(first, 1);
    await first.kill();
    const second = await lab.hostProcess();
    await create(second, 1);
    await expect(create(second, 1)).rejects.toThrow('already has a network');
    lab.sh('ip link add mf7 type veth peer name foreign');
    await expect(create(second, 7)).rejects.toThrow('File exists');
    expect(lab.sh('ip netns')).not.toContain('mayfly-7');
    expect(lab.sh('ip -o link show mf7')).toContain('foreign');
  });

  test('errors appear in the log with their message', async () => {
    const hostProcess = await lab.hostProcess();
    const expectLogged = async (event: string, message: string): Promise<void> => {
      await expect
        .poll(async () => (await eventsOf(hostProcess, event)).map(({ err }) => err?.message))
        .toContainEqual(expect.stringContaining(message));
    };

    lab.sh('ip link add mf7 type veth peer name foreign');
    await expect(create(hostProcess, 7)).rejects.toThrow('File exists');
    await expectLogged('network_creation_retried', 'File exists');

    await create(hostProcess, 1);
    lab.sh(`ip netns del mayfly-1; kill -9 ${lab.resolverPids(hostProcess).broker}`);
    await expectLogged('resolver_add_failed', 'mayfly-1: no such file or directory');

    lab.sh('echo broken > /run/mayfly/network.json');
    await hostProcess.ask('repair');
    await expectLogged('network_repair_failed', 'is not valid JSON');
  });

  test('another user cannot open the tap', async () => {
    const hostProcess = await lab.hostProcess();
    await create(hostProcess, 1);
    await expect(lab.guest(1, 70_002)).rejects.toThrow('operation not permitted');
  });
});

describe.runIf(process.getuid?.() === 0)('host support', () => {
  test('this host has no problems', async () => {
    expect(await checkNetworkSupport()).toEqual([]);
  });

  test('a missing tun device is reported with a remedy', async () => {
    const [problem] = await checkNetworkSupport('/dev/missing');
    expect(problem).toMatchObject({
      what: '/dev/missing cannot be opened (ENOENT)',
      remedy: expect.stringContaining('modprobe tun'),
    });
  });
});
