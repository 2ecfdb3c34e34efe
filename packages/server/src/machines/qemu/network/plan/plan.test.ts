import { describe, expect, test } from 'vitest';
import { cidr, containsCidr, formatCidr, parseCidr, withoutNested } from '../../../ipv4.ts';
import { chooseLinkRange, linkRangeCandidates, planSlot, slotCount } from './address-plan.ts';
import { isRefused } from './refused-ranges.ts';

describe('CIDR blocks', () => {
  test.each([
    ['1.2.3.4', '1.2.3.4'],
    ['1.2.3.4/24', '1.2.3.0/24'],
    ['255.255.255.255/0', '0.0.0.0/0'],
    ['192.168.0.1/32', '192.168.0.1'],
  ])('%s is %s', (text, block) => {
    expect(formatCidr(cidr(text))).toBe(block);
  });

  test.each(['', '1.2.3', '1.2.3.256', '1.2.3.4/33', '1.2.3.4/', '1.2.3.4/1/1', '::1', 'a.b.c.d', '1.2.3.4/-1'])(
    '%j is not a block',
    (text) => {
      expect(parseCidr(text)).toBeUndefined();
    },
  );

  test('nested and duplicate blocks are removed', () => {
    const blocks = ['10.1.0.0/16', '9.9.9.9', '10.0.0.0/8', '9.9.9.9'].map(cidr);
    expect(withoutNested(blocks).map(formatCidr)).toEqual(['9.9.9.9', '10.0.0.0/8']);
  });
});

describe('link addresses', () => {
  test('every slot has its own pair of addresses in the range', () => {
    for (const range of linkRangeCandidates) {
      expect(isRefused(range)).toBe(true);
      const plans = Array.from({ length: slotCount }, (_, slot) => planSlot(slot, range));
      const addresses = plans.flatMap(({ hostAddress, machineAddress }) => [hostAddress, machineAddress]);
      expect(new Set(addresses).size).toBe(2 * slotCount);
      expect(addresses.every((address) => containsCidr(range, cidr(address)))).toBe(true);
    }
  });

  test.each([-1, slotCount, 1.5, Number.NaN])('%s is not a slot', (slot) => {
    expect(() => planSlot(slot, cidr('198.19.192.0/19'))).toThrow('is not a slot number');
  });

  test('the link range avoids the routes of the host, except default routes', () => {
    const choose = (...routed: string[]): string => formatCidr(chooseLinkRange(routed.map(cidr)));
    expect(choose('0.0.0.0/0', '0.0.0.0/1')).toBe('198.19.192.0/19');
    expect(choose('198.19.249.3/32')).toBe('198.19.192.0/19');
    expect(choose('198.18.0.0/15')).toBe('10.214.192.0/19');
    expect(choose('198.18.0.0/15', '10.0.0.0/8')).toBe('100.127.192.0/19');
    expect(() => chooseLinkRange(linkRangeCandidates)).toThrow('No address range is free');
  });
});
