import { type Cidr, formatCidr } from '../../../ipv4.ts';
import { gatewayAddress, guestAddress, tapName, uplinkName } from '../plan/address-plan.ts';
import { allRefused, refusedTcpPorts } from '../plan/refused-ranges.ts';

/** What one machine may use of the network, so that it cannot starve the others. */
export interface NetworkLimits {
  /** In each direction. */
  readonly bandwidthBitsPerSecond: number;
  /** Concurrent connections that the machine's namespace tracks. */
  readonly connections: number;
  /**
   * Concurrent connections that the host tracks for the machine; derived from the size of the host's table when absent. A machine can make
   * its namespace forget connections that the host still tracks.
   */
  readonly hostConnections?: number;
  /** Also the largest burst. */
  readonly newConnectionsPerSecond: number;
  /** In each direction. */
  readonly packetsPerSecond: number;
}

export const defaultNetworkLimits: NetworkLimits = {
  bandwidthBitsPerSecond: 200_000_000,
  connections: 4096,
  newConnectionsPerSecond: 512,
  packetsPerSecond: 50_000,
};

/** The most addresses that the names of an allow-list can open at a time. */
export const maxResolvedAddresses = 4096;

/**
 * The nftables rules of a machine's namespace, without its egress policy. The chains `egress` and `lookup` are empty until
 * egressRuleset fills them. An empty `lookup` lets no query through. Only packets from the guest's tap leave the namespace: a QEMU that was
 * taken over can open sockets in it, and their packets would pass no rule for guests.
 */
export function machineRuleset(limits: NetworkLimits, operatorRanges: readonly Cidr[] = []): string {
  const { connections, newConnectionsPerSecond, packetsPerSecond } = limits;
  return `\
table netdev mayfly {
  chain guest {
    type filter hook ingress device "${tapName}" priority 0; policy drop;
    limit rate over ${packetsPerSecond}/second burst ${packetsPerSecond} packets drop
    meta protocol arp arp saddr ip ${guestAddress} arp daddr ip ${gatewayAddress} accept
    meta protocol ip ip saddr ${guestAddress} ip hdrlength 5 accept
  }
}
table inet mayfly {
  set refused {
    type ipv4_addr; flags interval
    elements = { ${allRefused(operatorRanges).map(formatCidr).join(', ')} }
  }
  set allowed {
    type ipv4_addr; flags interval
  }
  set resolved {
    type ipv4_addr; flags timeout; size ${maxResolvedAddresses}
  }
  chain prerouting {
    type filter hook prerouting priority raw; policy accept;
    iifname "${tapName}" jump from_guest
  }
  chain from_guest {
    ip daddr ${gatewayAddress} goto to_gateway
    tcp dport { ${refusedTcpPorts.join(', ')} } reject with tcp reset
    ip daddr @refused reject with icmp type admin-prohibited
    fib daddr type != unicast reject with icmp type admin-prohibited
    meta l4proto != { icmp, tcp, udp } reject with icmp type admin-prohibited
  }
  chain to_gateway {
    meta l4proto { tcp, udp } th dport 53 goto lookup
    icmp type echo-request accept
    reject with icmp type admin-prohibited
  }
  chain lookup {
  }
  chain output {
    type filter hook output priority raw; policy accept;
    oifname != "${tapName}" drop
    meta l4proto { tcp, udp } ip saddr ${gatewayAddress} th sport 53 notrack
  }
  chain input {
    type filter hook input priority filter; policy drop;
    iifname "${tapName}" ip daddr ${gatewayAddress} accept
  }
  chain forward {
    type filter hook forward priority filter; policy drop;
    ct state invalid drop
    iifname "${tapName}" oifname "${uplinkName}" goto outbound
    iifname "${uplinkName}" oifname "${tapName}" ct state established,related goto inbound
  }
  chain outbound {
    ct state new icmp type != echo-request reject with icmp type admin-prohibited
    ct state new limit rate over ${newConnectionsPerSecond}/second burst ${newConnectionsPerSecond} packets reject with icmp type admin-prohibited
    jump egress
    ct state new ct count over ${connections} reject with icmp type admin-prohibited
    accept
  }
  chain inbound {
    limit rate over ${packetsPerSecond}/second burst ${packetsPerSecond} packets drop
    jump egress
    accept
  }
  chain egress {
  }
  chain postrouting {
    type nat hook postrouting priority srcnat; policy accept;
    oifname "${uplinkName}" masquerade
  }
}
`;
}

/** Replaces all rules of a namespace, including its egress policy, in one transaction. Connections stay open if the new rules allow them; those that were allowed by name are cut until the guest looks the name up again. */
export function replaceMachineRules(rulesets: readonly string[]): string {
  const removals = ['netdev', 'inet'].map((family) => `add table ${family} mayfly\ndelete table ${family} mayfly\n`);
  return [...removals, ...rulesets].join('');
}
