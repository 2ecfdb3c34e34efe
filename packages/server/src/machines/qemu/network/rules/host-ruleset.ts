import { type Cidr, formatCidr } from '../../../ipv4.ts';
import { linkGroup, slotCount } from '../plan/address-plan.ts';
import { refusedRanges } from '../plan/refused-ranges.ts';
import { resolverUsers } from '../resolver/resolver-users.ts';

/** The inputs of the host's table. */
export interface HostRules {
  /** The range of link addresses. */
  readonly range: Cidr;
  /** Interfaces on which Mayfly switched forwarding on. Only the packets of machines may be forwarded from them. */
  readonly guardedUplinks: readonly string[];
  /** The most connections that the host tracks for one machine. */
  readonly connectionsPerMachine: number;
}

/** The users of the resolvers. A resolver that was taken over can send packets to any address, so they may go to port 53 only. */
const resolverUidRange = `${resolverUsers.firstUid}-${resolverUsers.firstUid + resolverUsers.slots - 1}`;

/** The set that counts the connections of each machine, by the name of its link. */
const connectionsSet = 'connections';

/** How long a closed connection stays in the host's connection table. Short, so that one machine cannot fill it. */
const closedForSeconds = 10;

/** The shortest time for which RFC 5382 lets a NAT remember an idle connection. The kernel's default is five days. */
export const idleForSeconds = 7_440;

/** How long an attempt to connect, or half of a close, may take. */
export const incompleteForSeconds = 60;

/** The kernel's defaults for UDP, which a host may have raised. */
const udpSeconds = { unreplied: 30, replied: 120 } as const;

/** One account's machines, at the default quota of 20, can use half of the host's connection table. */
const tableShare = 40;
export const mostConnections = 8_192;
const fewestConnections = 256;

/** How many connections the host tracks for one machine, given the size of its table (`nf_conntrack_max`). */
export function connectionsPerMachine(tableSize: number): number {
  return Math.max(fewestConnections, Math.min(mostConnections, Math.floor(tableSize / tableShare)));
}

/** The host's nftables table. Replaces an older one in one transaction and affects only the packets of Mayfly's links. */
export function hostRuleset({ range, guardedUplinks, connectionsPerMachine: connections }: HostRules): string {
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
  set ${connectionsSet} {
    type ifname; flags dynamic; size ${slotCount}
  }
  ct timeout tcp_connections {
    protocol tcp; l3proto ip
    policy = { ${tcpTimeouts} }
  }
  ct timeout udp_connections {
    protocol udp; l3proto ip
    policy = { unreplied: ${udpSeconds.unreplied}, replied: ${udpSeconds.replied} }
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
  chain output {
    type filter hook output priority filter - 10; policy accept;
    meta skuid ${resolverUidRange} jump from_resolver
  }
  chain from_resolver {
    meta l4proto { tcp, udp } th dport 53 accept
    reject with icmpx type admin-prohibited
  }
  chain forward {
    type filter hook forward priority filter - 10; policy accept;
    iifgroup ${linkGroup} ip daddr @refused reject with icmp type admin-prohibited
    iifgroup ${linkGroup} tcp flags & (syn | rst) == syn tcp option maxseg size set rt mtu
    iifgroup ${linkGroup} ct state new jump new_connection
    oifgroup ${linkGroup} ct state established,related accept
    oifgroup ${linkGroup} drop${guard}
  }
  chain new_connection {
    meta l4proto tcp add @${connectionsSet} { iifname ct count over ${connections} } reject with tcp reset
    meta l4proto != tcp add @${connectionsSet} { iifname ct count over ${connections} } reject with icmp type admin-prohibited
    meta l4proto tcp ct timeout set "tcp_connections"
    meta l4proto udp ct timeout set "udp_connections"
  }
  chain postrouting {
    type nat hook postrouting priority srcnat; policy accept;
    ip saddr ${formatCidr(range)} oifgroup != ${linkGroup} masquerade
  }
}
`;
}

const tcpTimeouts = Object.entries({
  syn_sent: incompleteForSeconds,
  syn_recv: incompleteForSeconds,
  established: idleForSeconds,
  fin_wait: incompleteForSeconds,
  time_wait: closedForSeconds,
  close: closedForSeconds,
})
  .map(([state, seconds]) => `${state}: ${seconds}`)
  .join(', ');

/** Makes the host count the connections of a machine's link from zero. Fails if there is nothing to forget. */
export function forgetConnectionsRule(linkName: string): string {
  return `delete element inet mayfly ${connectionsSet} { "${linkName}" }`;
}

/** Removes the host's table, if there is one. */
export const removeHostRuleset = 'add table inet mayfly\ndelete table inet mayfly\n';
