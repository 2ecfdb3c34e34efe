import type { CompiledEgress } from '../egress/compile.ts';
import { uplinkName } from '../plan/address-plan.ts';
import { formatCidr } from '../plan/ipv4.ts';

/** Lookups pass untracked, so that they take no place in the connection table. */
const openLookup = 'add rule inet mayfly lookup notrack accept';
const closedLookup = 'add rule inet mayfly lookup reject with icmp type admin-prohibited';

/** Cuts what is not allowed: towards the guest in silence, from it with an answer that ends an open connection too. */
const refuseTheRest = [
  `add rule inet mayfly egress iifname "${uplinkName}" drop`,
  'add rule inet mayfly egress ct state established meta l4proto tcp reject with tcp reset',
  'add rule inet mayfly egress reject with icmp type admin-prohibited',
];

/** A connection that was let through under this same policy stays, also when the address of its name has timed out. */
const allowListed = (mark: number): string[] => [
  `add rule inet mayfly egress ct mark ${mark} return`,
  `add rule inet mayfly egress ct original ip daddr @allowed ct mark set ${mark} return`,
  `add rule inet mayfly egress ct original ip daddr @resolved ct mark set ${mark} return`,
];

const egressRules = ({ mode, mark }: CompiledEgress): string[] => {
  switch (mode) {
    case 'all':
      return [];
    case 'none':
      return refuseTheRest;
    case 'list':
      return [...allowListed(mark), ...refuseTheRest];
  }
};

/** One transaction that puts a policy in the place of whatever held before, for new and for open connections. */
export const egressRuleset = (egress: CompiledEgress): string => {
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
};
