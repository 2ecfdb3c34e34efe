import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import {
  hostCapabilities,
  hostCapabilityMask,
  parseCapabilitySets,
  withHostCapabilities,
} from './host-capabilities.ts';

describe.runIf(process.getuid?.() === 0)('the capabilities of the host', () => {
  const run = (...command: string[]): string => {
    const [program, ...argv] = withHostCapabilities(command);
    return execFileSync(program, argv, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  };
  const listed = (): string =>
    hostCapabilityMask(parseCapabilitySets(readFileSync('/proc/self/status', 'utf8')).CapBnd ?? '0');

  test('a program that is started with them has exactly the capabilities of the list, in every set', () => {
    const sets = parseCapabilitySets(run('cat', '/proc/self/status'));
    console.log(`${Object.keys(hostCapabilities).length} capabilities: ${JSON.stringify(sets)}`);
    const none = '0'.repeat(16);
    expect(sets).toEqual({ CapInh: none, CapPrm: listed(), CapEff: listed(), CapBnd: listed(), CapAmb: none });
  });

  test('programs that it starts get no other one', () => {
    const nested = run('sh', '-c', 'setpriv --bounding-set=+all cat /proc/self/status || cat /proc/self/status');
    expect(parseCapabilitySets(nested).CapBnd).toBe(listed());
    expect(() => run('chroot', '/', 'true')).toThrow('Operation not permitted');
  });

  test('each has a bit of its own, and the order of the bits', () => {
    const bits = Object.values(hostCapabilities).map(({ bit }) => bit);
    expect(bits).toEqual([...new Set(bits)].sort((a, b) => a - b));
  });
});
