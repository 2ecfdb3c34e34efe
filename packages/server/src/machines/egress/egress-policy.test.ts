import { describe, expect, test } from 'vitest';
import { formatCidr } from '../ipv4.ts';
import { compileEgress, InvalidEgress } from './egress-policy.ts';

describe('compiling an egress policy', () => {
  test('addresses and names are separated, merged and normalised', () => {
    const { mode, blocks, names } = compileEgress({
      allow: ['Example.COM.', '203.0.113.7', '*.bücher.example', '203.0.113.0/24', 'example.com', '_srv.example.com'],
    });
    expect(mode).toBe('list');
    expect(blocks.map(formatCidr)).toEqual(['203.0.113.0/24']);
    expect(names).toEqual(['*.xn--bcher-kva.example', '_srv.example.com', 'example.com']);
  });

  test('the mark depends on what the list allows, not on how it is written', () => {
    const mark = (...allow: string[]): number => compileEgress({ allow }).mark;
    expect(mark('a.test', '1.1.1.1')).toBe(mark('1.1.1.1/32', 'A.test.', 'a.test'));
    expect(mark('a.test')).not.toBe(mark('b.test'));
    expect(mark()).toBeGreaterThan(0);
  });

  test.each([
    '',
    '.',
    '*',
    '*.',
    'a..b',
    '-a.test',
    'a b',
    '1.2.3.4.5',
    '1.2.3.300',
    '::1',
    'fd00::/8',
    'http://a.test',
    '*.*.a',
    'a'.repeat(64),
  ])('%j is rejected', (entry) => {
    expect(() => compileEgress({ allow: [entry] })).toThrow(InvalidEgress);
  });

  test('the length of a list is limited', () => {
    expect(() => compileEgress({ allow: Array.from({ length: 1001 }, () => 'a.test') })).toThrow(
      'at most 1000 entries',
    );
  });
});
