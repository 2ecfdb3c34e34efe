import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { canOpenLaboratory, Laboratory } from '../../../../test/network/laboratory.ts';
import type { RpcChild } from '../../../../test/network/rpc-child.ts';
import type { EgressPolicy } from './egress/policy.ts';

describe.runIf(canOpenLaboratory)('egress policies', { timeout: 20_000 }, () => {
  let laboratory: Laboratory;
  let internet: RpcChild;
  let service: RpcChild;
  let guest: RpcChild;

  const setEgress = (egress: EgressPolicy): Promise<unknown> => service.ask('setEgress', { slot: 5, egress });
  const reach = async (host: string, port = 80): Promise<string> =>
    (await guest.ask<{ outcome: string }>('connect', { host, port })).outcome;
  const lookUp = (name: string, type = 'A'): Promise<string> => guest.ask('lookup', { name, type });
  const hold = (host: string): Promise<number> => guest.ask('hold', { host, port: 80 });
  const say = (connection: number): Promise<string> => guest.ask('say', { connection });

  beforeAll(async () => {
    ({ laboratory, internet } = await Laboratory.open());
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
      },
    });
    service = await laboratory.service();
    await service.ask('acquire', { slot: 5, uid: 70005, egress: 'none' });
    guest = await laboratory.guest(5, 70005);
  }, 60_000);

  afterAll(async () => laboratory[Symbol.asyncDispose]());

  test('none from the start: no address and no name', async () => {
    expect(await reach('203.0.113.1')).toBe('EHOSTUNREACH');
    expect(await guest.ask('askUdp', { host: '198.51.100.1', port: 123 })).not.toBe('answered');
    expect(laboratory.ping(guest.pid, '203.0.113.1')).toBe(false);
    expect(await lookUp('a.test')).toBe('ECONNREFUSED');
    expect(await reach('10.213.0.1', 53)).toBe('EHOSTUNREACH');
  });

  test('a list of addresses: these and no others, and no names', async () => {
    await setEgress({ allow: ['198.51.100.0/24', '203.0.113.1'] });
    expect(await reach('203.0.113.1')).toBe('open');
    expect(await reach('203.0.113.2')).toBe('EHOSTUNREACH');
    expect(await guest.ask('askUdp', { host: '198.51.100.1', port: 123 })).toBe('answered');
    expect(laboratory.ping(guest.pid, '203.0.113.1')).toBe(true);
    expect(laboratory.ping(guest.pid, '203.0.113.2')).toBe(false);
    expect(await lookUp('a.test')).toBe('ENOTFOUND');
  });

  test('a list of names: an address opens with its lookup, others stay closed', async () => {
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

  test('the fixed refusals hold above any list', async () => {
    await setEgress({ allow: ['0.0.0.0/0', 'private.test'] });
    expect(await lookUp('private.test')).toContain('192.168.77.1');
    for (const host of ['192.168.77.1', '10.0.0.1', '169.254.169.254']) expect(await reach(host)).toBe('EHOSTUNREACH');
    expect(await reach('203.0.113.10')).toBe('ECONNREFUSED');
    expect(await reach('203.0.113.1', 25)).toBe('ECONNREFUSED');
    expect(await reach('203.0.113.1')).toBe('open');
  });

  test('a change cuts what it no longer allows and nothing else', async () => {
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

  test('a connection outlives the address of its name', async () => {
    await setEgress({ allow: ['b.test'] });
    await lookUp('b.test');
    const connection = await hold('198.51.100.2');
    laboratory.sh('nsenter --net=/run/netns/mayfly-5 nft flush set inet mayfly resolved');
    expect(await reach('198.51.100.2')).toBe('EHOSTUNREACH');
    expect(await say(connection)).toBe('hello');
  });

  test('a policy that cannot be understood changes nothing', async () => {
    await setEgress({ allow: ['203.0.113.1'] });
    await expect(setEgress({ allow: ['not a name'] })).rejects.toThrow('not an IPv4 address, CIDR or domain');
    expect(await reach('203.0.113.1')).toBe('open');
    expect(await reach('203.0.113.2')).toBe('EHOSTUNREACH');
  });

  test("a resolver on the host's loopback serves machines too, and only through the gateway", async () => {
    await setEgress('all');
    const local = laboratory.hostProgram();
    await local.ask('serveDns', { address: '127.0.0.53', ttlSeconds: 1, names: { 'local.test': ['203.0.113.2'] } });
    laboratory.useResolver('127.0.0.53');
    expect(await lookUp('local.test')).toBe('203.0.113.2');
    laboratory.useResolver('203.0.113.53');
    expect(await lookUp('local.test')).toBe('ENOTFOUND');
  });

  test('when the resolver dies, another takes its place with all it knew', async () => {
    await setEgress({ allow: ['b.test'] });
    const pid = await service.ask<number>('resolverPid');
    laboratory.sh(`kill -9 ${pid}`);
    await expect.poll(() => lookUp('b.test'), { timeout: 5000 }).toBe('198.51.100.2');
    expect(await lookUp('a.test')).toBe('ENOTFOUND');
    expect(await reach('198.51.100.2')).toBe('open');
    expect(await service.ask('resolverPid')).not.toBe(pid);
    await setEgress('all');
    expect(await lookUp('a.test')).toBe('203.0.113.1');
  });
});
