import { linkGroup } from '../plan/address-plan.ts';
import { type Cidr, formatCidr } from '../plan/ipv4.ts';
import { refusedRanges } from '../plan/refused-ranges.ts';

/** What the host's table depends on. */
export interface HostRules {
  readonly range: Cidr;
  /** Interfaces on which forwarding is on for machines alone: nothing else may pass from them. */
  readonly guardedUplinks: readonly string[];
}

/** How long a closed connection keeps its place in the host's connection table, so that one machine cannot fill it with them. */
const closedForSeconds = 10;

/** Quotes an interface name for nft. */
const quoted = (name: string): string => `"${name}"`;

const guard = ({ guardedUplinks }: HostRules): string =>
  guardedUplinks.length === 0
    ? ''
    : `\n    iifname { ${guardedUplinks.map(quoted).join(', ')} } oifgroup != ${linkGroup} drop`;

/** The whole of the host's table, replacing an older one in one transaction. Only packets of our links are ever touched. */
export const hostRuleset = (rules: HostRules): string => `\
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
    ip saddr != ${formatCidr(rules.range)} drop
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
    oifgroup ${linkGroup} drop${guard(rules)}
  }
  chain postrouting {
    type nat hook postrouting priority srcnat; policy accept;
    ip saddr ${formatCidr(rules.range)} oifgroup != ${linkGroup} masquerade
  }
}
`;

/** Takes the host's table away. */
export const noHostRuleset = 'add table inet mayfly\ndelete table inet mayfly\n';
