import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { canOpenNetworkLab, NetworkLab } from '../../../../test/network/network-lab.ts';
import type { RpcChild } from '../../../../test/network/rpc.ts';
import type { EgressPolicy } from '../../../core/ports/machine-driver.ts';
import { readProcessIdentity } from '../jail/proc.ts';
import { resolverUsers } from './resolver/resolver-users.ts';

describe.runIf(canOpenNetworkLab)('egress policies', () => {
  let lab: NetworkLab;
  let internet: RpcChild;
  let hostProcess: RpcChild;
  let guest: RpcChild;

  const setEgress = (egress: EgressPolicy): Promise<unknown> => hostProcess.ask('setEgress', { slot: 5, egress });
  const reach = async (host: string, port = 80): Promise<string> =>
    (await guest.ask<{ outcome: string }>('connect', { host, port })).outcome;
  const lookUp = (name: string, type = 'A'): Promise<string> => guest.ask('lookup', { name, type });
  const hold = (host: string): Promise<number> => guest.ask('hold', { host, port: 80 });
  const say = (connection: number): Promise<string> => guest.ask('say', { connection });

  beforeAll(async () => {
    ({ lab, internet } = await NetworkLab.open());
    await internet.ask('listenTcp', { port: 25 });
    await internet.ask('listenUdp', { port: 123, address: '198.51.100.1' });
    await internet.ask('serveDns', {
      address: '203.0.113.53',
      ttlSeconds: 1,
      names: {
        'a.test': ['203.0.113.1'],
        'www.a.test': ['203.0.113.2'],
        'b.test': ['198.51.100.2'],
        'private.test': ['192.168.77.1', '10.0.0.1'],
        'mixed.test': ['10.0.0.1', '203.0.113.1', '169.254.169.254', '168.63.129.16'],
      },
    });
    hostProcess = await lab.hostProcess();
    await hostProcess.ask('create', { slot: 5, uid: 70005, egress: 'none' });
    guest = await lab.guest(5, 70005);
  }, 60_000);

  afterAll(async () => lab[Symbol.asyncDispose]());

  test('none: neither addresses nor names are reachable', async () => {
    expect(await reach('203.0.113.1')).toBe('EHOSTUNREACH');
    expect(await guest.ask('askUdp', { host: '198.51.100.1', port: 123 })).not.toBe('answered');
    expect(lab.ping(guest.pid, '203.0.113.1')).toBe(false);
    expect(await lookUp('a.test')).toBe('ECONNREFUSED');
    expect(await reach('10.213.0.1', 53)).toBe('EHOSTUNREACH');
  });

  test('a list of addresses allows these addresses and no names', async () => {
    await setEgress({ allow: ['198.51.100.0/24', '203.0.113.1'] });
    expect(await reach('203.0.113.1')).toBe('open');
    expect(await reach('203.0.113.2')).toBe('EHOSTUNREACH');
    expect(await guest.ask('askUdp', { host: '198.51.100.1', port: 123 })).toBe('answered');
    expect(lab.ping(guest.pid, '203.0.113.1')).toBe(true);
    expect(lab.ping(guest.pid, '203.0.113.2')).toBe(false);
    expect(await lookUp('a.test')).toBe('ENOTFOUND');
  });

  test('a list of names opens an address when its name is looked up', async () => {
    await setEgress({ allow: ['*.a.test', 'b.test'] });
    expect(await reach('203.0.113.2')).toBe('EHOSTUNREACH');
    expect(await lookUp('WWW.a.test')).toBe('203.0.113.2');
    expect(await reach('203.0.113.2')).toBe('open');
    expect(await lookUp('b.test')).toBe('198.51.100.2');
    expect(await reach('198.51.100.2')).toBe('open');
    expect(await lookUp('a.test')).toBe('ENOTFOUND');
    expect(await reach('203.0.113.1')).toBe('EHOSTUNREACH');
    expect(await lookUp('b.test', 'AAAA')).toBe('ENODATA');
    expect(await lookUp('a.test', 'AAAA')).toBe('ENOTFOUND');
  });

  test('no list can allow the refused ranges', async () => {
    await setEgress({ allow: ['0.0.0.0/0', 'private.test'] });
    expect(await lookUp('private.test')).toBe('ENODATA');
    for (const host of ['192.168.77.1', '10.0.0.1', '169.254.169.254']) expect(await reach(host)).toBe('EHOSTUNREACH');
    expect(await reach('203.0.113.10')).toBe('ECONNREFUSED');
    expect(await reach('203.0.113.1', 25)).toBe('ECONNREFUSED');
    expect(await reach('203.0.113.1')).toBe('open');
  });

  test('answers contain no address of the refused ranges', async () => {
    await setEgress('all');
    expect(await lookUp('mixed.test')).toBe('203.0.113.1');
    expect(await lookUp('private.test')).toBe('ENODATA');
  });

  test('a change ends only the connections that it no longer allows', async () => {
    await setEgress('all');
    expect(await lookUp('www.a.test')).toBe('203.0.113.2');
    const named = await hold('203.0.113.2');
    const addressed = await hold('203.0.113.1');
    const other = await hold('198.51.100.1');
    await setEgress({ allow: ['www.a.test', '203.0.113.1'] });
    expect(await say(named)).toBe('hello');
    expect(await say(addressed)).toBe('hello');
    expect(await say(other)).toMatch(/ECONNRESET|EPIPE|closed/);
    await setEgress({ allow: ['www.a.test'] });
    expect(await say(named)).toBe('hello');
    expect(await say(addressed)).toMatch(/ECONNRESET|EPIPE|closed/);
    await setEgress('none');
    expect(await say(named)).toMatch(/ECONNRESET|EPIPE|closed/);
  });

  test('a connection survives the timeout of its resolved address', async () => {
    await setEgress({ allow: ['b.test'] });
    await lookUp('b.test');
    const connection = await hold('198.51.100.2');
    lab.sh('nsenter --net=/run/netns/mayfly-5 nft flush set inet mayfly resolved');
    expect(await reach('198.51.100.2')).toBe('EHOSTUNREACH');
    expect(await say(connection)).toBe('hello');
  });

  test('an invalid policy changes nothing', async () => {
    await setEgress({ allow: ['203.0.113.1'] });
    await expect(setEgress({ allow: ['not a name'] })).rejects.toThrow(
      'is not an IPv4 address, CIDR block or domain name',
    );
    expect(await reach('203.0.113.1')).toBe('open');
    expect(await reach('203.0.113.2')).toBe('EHOSTUNREACH');
  });

  test("machines can use a resolver on the host's loopback through the gateway", async () => {
    await setEgress('all');
    const local = lab.hostProgram();
    await local.ask('serveDns', { address: '127.0.0.53', ttlSeconds: 1, names: { 'local.test': ['203.0.113.2'] } });
    lab.useResolver('127.0.0.53');
    expect(await lookUp('local.test')).toBe('203.0.113.2');
    lab.useResolver('203.0.113.53');
    expect(await lookUp('local.test')).toBe('ENOTFOUND');
  });

  test.each(['resolver', 'broker'] as const)('a %s that dies is replaced, with all policies', async (part) => {
    await setEgress({ allow: ['b.test'] });
    const before = lab.resolverPids(hostProcess);
    lab.sh(`kill -9 ${before[part]}`);
    await expect.poll(() => lookUp('b.test')).toBe('198.51.100.2');
    expect(await lookUp('a.test')).toBe('ENOTFOUND');
    expect(await reach('198.51.100.2')).toBe('open');
    const after = lab.resolverPids(hostProcess);
    expect(Object.values(before)).not.toContain(after.broker);
    expect(Object.values(before).map(readProcessIdentity)).toEqual([undefined, undefined]);
    await setEgress('all');
    expect(await lookUp('a.test')).toBe('203.0.113.1');
  });

  test('nothing that listens in the namespace belongs to root', async () => {
    await setEgress('all');
    expect(await lookUp('a.test')).toBe('203.0.113.1');
    const listening = lab.sh('nsenter --net=/run/netns/mayfly-5 ss -Hlntue');
    console.log(listening);
    const owners = listening
      .trim()
      .split('\n')
      .map((line) => Number(/uid:(\d+)/.exec(line)?.[1] ?? 0));
    expect(owners).toHaveLength(2);
    expect(new Set(owners)).toEqual(new Set([resolverUsers.firstUid]));
  });

  test("what the resolver's user sends leaves the host only to port 53", async () => {
    const send = "bash -c 'echo x > /dev/udp/198.51.100.1/54'";
    await internet.ask('countUdp', { port: 54, address: '198.51.100.1' });
    lab.sh(`setpriv --reuid ${resolverUsers.firstUid} --clear-groups ${send} || true`);
    lab.sh(send);
    await expect.poll(() => internet.ask('countedOn', { port: 54 })).toBe(1);
  });
});
