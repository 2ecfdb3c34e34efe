import { linkGroup } from '../plan/address-plan.ts';
import { type Cidr, formatCidr } from '../plan/ipv4.ts';
import { refusedRanges } from '../plan/refused-ranges.ts';

/** The inputs of the host's table. */
export interface HostRules {
  /** The range of link addresses. */
  readonly range: Cidr;
  /** Interfaces on which Mayfly switched forwarding on. Only the packets of machines may be forwarded from them. */
  readonly guardedUplinks: readonly string[];
}

/** How long a closed connection stays in the host's connection table. Short, so that one machine cannot fill it. */
const closedForSeconds = 10;

/** The host's nftables table. Replaces an older one in one transaction and affects only the packets of Mayfly's links. */
export function hostRuleset({ range, guardedUplinks }: HostRules): string {
  const uplinks = guardedUplinks.map((name) => `"${name}"`).join(', ');
  const guard = uplinks && `\n    iifname { ${uplinks} } oifgroup != ${linkGroup} drop`;
  return `\
add table inet mayfly
delete table inet mayfly
table inet mayfly {
  set refused {
    type ipv4_addr; flags interval
    elements = { ${refusedRanges.map(formatCidr).join(', ')} }
  }
  ct timeout closed_connections {
    protocol tcp; l3proto ip
    policy = { time_wait: ${closedForSeconds}, close: ${closedForSeconds} }
  }
  chain prerouting {
    type filter hook prerouting priority raw; policy accept;
    iifgroup ${linkGroup} jump from_machine
  }
  chain from_machine {
    meta nfproto != ipv4 drop
    ip saddr != ${formatCidr(range)} drop
    fib daddr type unicast accept
    meta l4proto tcp reject with tcp reset
    reject with icmp type admin-prohibited
  }
  chain input {
    type filter hook input priority filter - 10; policy accept;
    iifgroup ${linkGroup} drop
  }
  chain forward {
    type filter hook forward priority filter - 10; policy accept;
    iifgroup ${linkGroup} ip daddr @refused reject with icmp type admin-prohibited
    iifgroup ${linkGroup} tcp flags & (syn | rst) == syn tcp option maxseg size set rt mtu
    iifgroup ${linkGroup} ct state new meta l4proto tcp ct timeout set "closed_connections"
    oifgroup ${linkGroup} ct state established,related accept
    oifgroup ${linkGroup} drop${guard}
  }
  chain postrouting {
    type nat hook postrouting priority srcnat; policy accept;
    ip saddr ${formatCidr(range)} oifgroup != ${linkGroup} masquerade
  }
}
`;
}

/** Removes the host's table, if there is one. */
export const removeHostRuleset = 'add table inet mayfly\ndelete table inet mayfly\n';
