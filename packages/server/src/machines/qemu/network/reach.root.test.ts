import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  canOpenNetworkLab,
  forbiddenAddresses,
  hostAddresses,
  NetworkLab,
} from '../../../../test/network/network-lab.ts';
import type { RpcChild } from '../../../../test/network/rpc.ts';

interface Attempt {
  readonly outcome: string;
  readonly ms: number;
}

describe.runIf(canOpenNetworkLab)('reachability from a machine', () => {
  let lab: NetworkLab;
  let internet: RpcChild;
  let lan: RpcChild;
  let hostProcess: RpcChild;
  let guest: RpcChild;
  let neighbour: RpcChild;
  let hostProgram: RpcChild;

  const attempt = (host: string, port = 80, from = guest): Promise<Attempt> =>
    from.ask<Attempt>('connect', { host, port });

  beforeAll(async () => {
    ({ lab, internet, lan } = await NetworkLab.open());
    for (const port of [25, 443, 465, 587]) await internet.ask('listenTcp', { port });
    await internet.ask('listenUdp', { port: 123, address: '198.51.100.1' });
    for (const address of forbiddenAddresses) await internet.ask('listenUdp', { port: 123, address });
    await internet.ask('serveDns', {
      address: '203.0.113.53',
      ttlSeconds: 5,
      names: { 'web.test': ['203.0.113.2'], 'big.test': Array.from({ length: 60 }, (_, at) => `203.0.113.${at}`) },
    });
    hostProgram = lab.hostProgram();
    await hostProgram.ask('listenTcp', { port: 80 });
    await hostProgram.ask('listenUdp', { port: 123 });
    hostProcess = await lab.hostProcess();
    await hostProcess.ask('create', { slot: 3, uid: 70003 });
    await hostProcess.ask('create', { slot: 4, uid: 70004 });
    guest = await lab.guest(3, 70003);
    neighbour = await lab.guest(4, 70004);
    await neighbour.ask('listenTcp', { port: 80 });
    await neighbour.ask('listenUdp', { port: 123 });
  }, 60_000);

  afterAll(async () => lab[Symbol.asyncDispose]());

  test('HTTP, HTTPS, UDP, ping and name lookups work', async () => {
    expect(await attempt('203.0.113.2', 80)).toMatchObject({ outcome: 'open' });
    expect(await attempt('198.51.100.1', 443)).toMatchObject({ outcome: 'open' });
    expect(await guest.ask('askUdp', { host: '198.51.100.1', port: 123 })).toBe('answered');
    expect(lab.ping(guest.pid, '203.0.113.1')).toBe(true);
    expect(lab.ping(guest.pid, '10.213.0.1')).toBe(true);
    expect(await guest.ask('lookup', { name: 'web.test' })).toBe('203.0.113.2');
    expect(await guest.ask('lookup', { name: 'missing.test' })).toBe('ENOTFOUND');
    expect(await guest.ask('lookup', { name: 'web.test', type: 'AAAA' })).toBe('ENODATA');
  });

  test('an answer too long for UDP arrives over TCP', async () => {
    expect(String(await guest.ask('lookup', { name: 'big.test' })).split(' ')).toHaveLength(60);
  });

  test.each([25, 465, 587])('mail port %i is refused instead of timing out', async (port) => {
    const { outcome, ms } = await attempt('203.0.113.2', port);
    expect(outcome).toBe('ECONNREFUSED');
    expect(ms).toBeLessThan(10_000);
  });

  test.each(forbiddenAddresses)('%s is refused instead of timing out', async (host) => {
    const { outcome, ms } = await attempt(host);
    expect(['EHOSTUNREACH', 'ENETUNREACH', 'EINVAL', 'EACCES']).toContain(outcome);
    expect(ms).toBeLessThan(10_000);
    expect(await guest.ask('askUdp', { host, port: 123 })).not.toBe('answered');
    expect(lab.ping(guest.pid, host)).toBe(false);
  });

  test('the host itself can reach the forbidden addresses', async () => {
    for (const host of ['10.0.0.1', '100.64.0.1', '169.254.169.254', '172.16.0.1', '192.168.1.1', '192.0.2.1']) {
      expect(await attempt(host, 80, hostProgram)).toMatchObject({ outcome: 'open' });
    }
  });

  test.each([...hostAddresses, '10.213.0.1', '198.19.192.6', '198.19.192.7', '198.19.192.8'])(
    'the host is not reachable through %s',
    async (host) => {
      for (const port of [22, 80, 8080]) expect((await attempt(host, port)).outcome).not.toMatch(/open|silent/);
      expect(await guest.ask('askUdp', { host, port: 123 })).not.toBe('answered');
    },
  );

  test('an address that the host gets later is not reachable either', async () => {
    lab.sh('ip addr add 203.0.113.77/24 dev eth0; ip addr add 198.51.100.200/32 dev lan0');
    expect(await attempt('203.0.113.77')).toMatchObject({ outcome: 'ECONNREFUSED' });
    expect(await attempt('198.51.100.200')).toMatchObject({ outcome: 'ECONNREFUSED' });
    expect(lab.ping(guest.pid, '203.0.113.77')).toBe(false);
  });

  test('broadcast and multicast get no answer', async () => {
    for (const host of ['203.0.113.255', '224.0.0.1', '255.255.255.255']) {
      expect(await guest.ask('askUdp', { host, port: 123 })).not.toBe('answered');
    }
  });

  test('another machine is not reachable, by its guest address or its link address', async () => {
    expect(await attempt('198.19.192.9')).toMatchObject({ outcome: 'EHOSTUNREACH' });
    lab.sh('ip route add 198.19.192.9/32 via 10.213.0.1', guest.pid);
    expect(await guest.ask('askUdp', { host: '198.19.192.9', port: 123 })).not.toBe('answered');
    expect((await attempt('10.213.0.2', 80, neighbour)).outcome).toBe('open');
    expect((await attempt('10.213.0.2')).outcome).toBe('ECONNREFUSED');
  });

  test('neither the internet nor the host can connect to a machine', async () => {
    await guest.ask('listenTcp', { port: 8000 });
    lab.sh('ip route add 198.19.192.0/19 via 203.0.113.10; ip route add 10.213.0.0/30 via 203.0.113.10', internet.pid);
    for (const host of ['198.19.192.7', '10.213.0.2']) {
      expect((await attempt(host, 8000, internet)).outcome).not.toBe('open');
      expect((await attempt(host, 8000, hostProgram)).outcome).not.toBe('open');
    }
    lab.sh('ip route add 10.213.0.0/30 via 198.19.192.7');
    expect((await attempt('10.213.0.2', 8000, hostProgram)).outcome).not.toBe('open');
    lab.sh('ip route del 10.213.0.0/30');
  });

  test('packets with a forged source address are dropped', async () => {
    lab.sh('ip addr add 10.99.0.3/32 dev eth0; ip addr add 203.0.113.99/32 dev eth0', guest.pid);
    for (const localAddress of ['10.99.0.3', '203.0.113.99']) {
      expect(await guest.ask('connect', { host: '203.0.113.2', port: 80, localAddress })).toMatchObject({
        outcome: 'silent',
      });
    }
  });

  test("nothing that does not come from the guest's tap leaves the namespace", async () => {
    for (const port of [124, 125]) await internet.ask('countUdp', { port, address: '203.0.113.2' });
    const send = 'const s = require("dgram").createSocket("udp4"); s.send("x", 124, "203.0.113.2", () => s.close())';
    const asMachine = 'setpriv --reuid 70003 --regid 70003 --clear-groups';
    lab.sh(`nsenter --net=/run/netns/mayfly-3 ${asMachine} ${process.execPath} -e '${send}'`);
    // What the guest sends arrives, after anything that left the namespace before.
    await guest.ask('floodUdp', { host: '203.0.113.2', port: 125, count: 1 });
    await expect.poll(() => internet.ask('countedOn', { port: 125 })).toBe(1);
    expect(await internet.ask('countedOn', { port: 124 })).toBe(0);
  });

  test('IPv6 is off', async () => {
    lab.sh('ip -6 addr add fd00::2/64 dev eth0 nodad; ip -6 route add default via fd00::1', guest.pid);
    expect(lab.sh('ip -6 addr show dev mf3')).toBe('');
    expect(lab.sh('nsenter --net=/run/netns/mayfly-3 ip -6 addr')).toBe('');
  });

  test('the host forwards nothing for its other neighbours', async () => {
    lab.sh('ip route add 192.168.77.0/24 via 203.0.113.10', internet.pid);
    expect((await attempt('192.168.77.2', 80, internet)).outcome).not.toBe('open');
    expect((await attempt('203.0.113.2', 80, lan)).outcome).not.toBe('open');
    expect((await attempt('192.168.77.2', 80, hostProgram)).outcome).toBe('open');
    expect((await attempt('192.168.77.2')).outcome).toBe('EHOSTUNREACH');
  });
});
