import type { CompiledEgress } from '../../../egress/egress-policy.ts';
import { formatCidr } from '../../../ipv4.ts';
import { uplinkName } from '../plan/address-plan.ts';

/** Lookups are not tracked, so that they take no space in the connection table. */
const openLookup = 'add rule inet mayfly lookup notrack accept';
const closedLookup = 'add rule inet mayfly lookup reject with icmp type admin-prohibited';

/** Drops packets to the guest silently. Rejects packets from the guest, which also ends its open connections. */
const refuseTheRest = [
  `add rule inet mayfly egress iifname "${uplinkName}" drop`,
  'add rule inet mayfly egress ct state established meta l4proto tcp reject with tcp reset',
  'add rule inet mayfly egress reject with icmp type admin-prohibited',
];

/** The transaction that replaces a machine's egress policy, for new and for open connections. */
export function egressRuleset(egress: CompiledEgress): string {
  const lines = [
    'flush chain inet mayfly lookup',
    'flush chain inet mayfly egress',
    'flush set inet mayfly allowed',
    'flush set inet mayfly resolved',
    egress.mode === 'none' ? closedLookup : openLookup,
    ...egressRules(egress),
  ];
  if (egress.blocks.length > 0) {
    lines.push(`add element inet mayfly allowed { ${egress.blocks.map(formatCidr).join(', ')} }`);
  }
  return `${lines.join('\n')}\n`;
}

function egressRules({ mode, mark }: CompiledEgress): string[] {
  switch (mode) {
    case 'all':
      return [];
    case 'none':
      return refuseTheRest;
    case 'list':
      return [...allowListed(mark), ...refuseTheRest];
  }
}

/** Keeps a connection that this policy has accepted, even after the resolved address of its name has timed out. */
function allowListed(mark: number): string[] {
  return [
    `add rule inet mayfly egress ct mark ${mark} return`,
    `add rule inet mayfly egress ct original ip daddr @allowed ct mark set ${mark} return`,
    `add rule inet mayfly egress ct original ip daddr @resolved ct mark set ${mark} return`,
  ];
}
