import { describe, expect, test } from 'vitest';
import { planSlot, slotCount } from './address-plan.ts';
import { cidr, containsCidr, formatCidr, parseCidr, withoutNested } from './ipv4.ts';
import { chooseLinkRange, linkRangeCandidates } from './link-range.ts';
import { isRefused } from './refused-ranges.ts';
import { findUplinks, parseRoutes } from './routes.ts';

describe('blocks of addresses', () => {
  test.each([
    ['1.2.3.4', '1.2.3.4'],
    ['1.2.3.4/24', '1.2.3.0/24'],
    ['255.255.255.255/0', '0.0.0.0/0'],
    ['192.168.0.1/32', '192.168.0.1'],
  ])('%s is %s', (text, block) => {
    expect(formatCidr(cidr(text))).toBe(block);
  });

  test.each(['', '1.2.3', '1.2.3.256', '1.2.3.4/33', '1.2.3.4/', '1.2.3.4/1/1', '::1', 'a.b.c.d', '1.2.3.4/-1'])(
    '%j is none',
    (text) => {
      expect(parseCidr(text)).toBeUndefined();
    },
  );

  test('nested and repeated blocks go', () => {
    const blocks = ['10.1.0.0/16', '9.9.9.9', '10.0.0.0/8', '9.9.9.9'].map(cidr);
    expect(withoutNested(blocks).map(formatCidr)).toEqual(['9.9.9.9', '10.0.0.0/8']);
  });
});

describe('link addresses', () => {
  test('every slot has a pair of its own inside the range', () => {
    for (const range of linkRangeCandidates) {
      expect(isRefused(range)).toBe(true);
      const plans = Array.from({ length: slotCount }, (_, slot) => planSlot(slot, range));
      const addresses = plans.flatMap(({ hostAddress, machineAddress }) => [hostAddress, machineAddress]);
      expect(new Set(addresses).size).toBe(2 * slotCount);
      expect(addresses.every((address) => containsCidr(range, cidr(address)))).toBe(true);
    }
  });

  test.each([-1, slotCount, 1.5, Number.NaN])('%s is no slot', (slot) => {
    expect(() => planSlot(slot, cidr('198.19.192.0/19'))).toThrow('not a slot');
  });

  test('a range moves on when a route touches it, and a default route touches none', () => {
    const routes = (...destinations: string[]) =>
      destinations.map((destination) => ({ destination: cidr(destination), devices: ['eth0'] }));
    expect(formatCidr(chooseLinkRange(routes('0.0.0.0/0', '0.0.0.0/1')))).toBe('198.19.192.0/19');
    expect(formatCidr(chooseLinkRange(routes('198.19.249.3/32')))).toBe('198.19.192.0/19');
    expect(formatCidr(chooseLinkRange(routes('198.18.0.0/15')))).toBe('10.214.192.0/19');
    expect(formatCidr(chooseLinkRange(routes('198.18.0.0/15', '10.0.0.0/8')))).toBe('100.127.192.0/19');
    const all = routes(...linkRangeCandidates.map(formatCidr));
    expect(() => chooseLinkRange(all)).toThrow('no address range is free');
  });
});

test('uplinks are the interfaces that lead to addresses a machine may reach', () => {
  const routes = parseRoutes(
    JSON.stringify([
      { dst: 'default', gateway: '192.168.1.1', dev: 'eth0' },
      { dst: '172.17.0.0/16', dev: 'docker0' },
      { dst: '203.0.113.0/24', nexthops: [{ dev: 'eth1' }, { dev: 'eth2' }] },
      { type: 'local', dst: '127.0.0.0/8', dev: 'lo' },
      { type: 'broadcast', dst: '203.0.113.255', dev: 'eth3' },
    ]),
  );
  expect(findUplinks(routes)).toEqual(['eth0', 'eth1', 'eth2']);
});
