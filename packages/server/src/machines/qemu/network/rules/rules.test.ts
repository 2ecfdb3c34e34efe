import { describe, expect, test } from 'vitest';
import { compileEgress } from '../../../egress/egress-policy.ts';
import { cidr } from '../../../ipv4.ts';
import { planSlot } from '../plan/address-plan.ts';
import { egressRuleset } from './egress-ruleset.ts';
import { connectionsPerMachine, hostRuleset } from './host-ruleset.ts';
import { defaultNetworkLimits, machineRuleset } from './machine-ruleset.ts';
import { createNamespaceScript, removeNamespaceScript } from './namespace-scripts.ts';

const range = cidr('198.19.192.0/19');
const golden = (name: string): string => `../golden/${name}`;

describe('nftables rules and scripts', () => {
  test('of a machine', async () => {
    await expect(machineRuleset(defaultNetworkLimits)).toMatchFileSnapshot(golden('machine.nft'));
  });

  test("of a machine with the operator's ranges, of which nested ones are left out", () => {
    const rules = machineRuleset(defaultNetworkLimits, ['203.0.113.0/24', '10.1.0.0/16'].map(cidr));
    expect(rules).toContain('198.18.0.0/15, 203.0.113.0/24, 224.0.0.0/4');
    expect(rules).not.toContain('10.1.0.0/16');
  });

  test.each([
    [1_000, 256],
    [65_536, 1_638],
    [262_144, 6_553],
    [4_000_000, 8_192],
  ])('a host that tracks %i connections tracks %i for one machine', (tableSize, connections) => {
    expect(connectionsPerMachine(tableSize)).toBe(connections);
  });

  test.each([
    ['all', 'all'],
    ['none', 'none'],
    ['list', { allow: ['203.0.113.0/24', '198.51.100.7', '*.example.com'] }],
    ['empty-list', { allow: [] }],
  ] as const)('of the policy %s', async (name, policy) => {
    await expect(egressRuleset(compileEgress(policy))).toMatchFileSnapshot(golden(`egress-${name}.nft`));
  });

  test('of the host', async () => {
    const guarded = hostRuleset({ range, guardedUplinks: ['eth0', 'wlan0'], connectionsPerMachine: 6553 });
    await expect(guarded).toMatchFileSnapshot(golden('host-guarded.nft'));
    expect(hostRuleset({ range, guardedUplinks: [], connectionsPerMachine: 6553 })).not.toContain('iifname {');
  });

  test('scripts of a namespace', async () => {
    const script = createNamespaceScript(planSlot(7, range), 70007, defaultNetworkLimits, ['RULES\n']);
    await expect(script).toMatchFileSnapshot(golden('make.sh'));
    await expect(removeNamespaceScript(planSlot(7, range))).toMatchFileSnapshot(golden('remove.sh'));
  });
});
