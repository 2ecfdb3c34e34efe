import {
  gatewayAddress,
  guestPrefixLength,
  linkGroup,
  netnsDir,
  type SlotPlan,
  tapName,
  uplinkName,
} from '../plan/address-plan.ts';
import { forgetConnectionsRule } from './host-ruleset.ts';
import type { NetworkLimits } from './machine-ruleset.ts';

/** How long a packet may queue under the bandwidth limit. */
const shaperLatency = '50ms';

/** Room for a few packets of the largest size. */
const minBurstBytes = 131_072;

/** Above that minimum, a burst is a hundredth of a second's traffic. */
const burstsPerSecond = 100;

/** How long a closed connection stays in the machine's connection table. */
const timeWaitSeconds = 10;

/** The shell script that creates a machine's namespace with its tap, link, bandwidth limits and rules. It stops at the first failure. */
export function createNamespaceScript(
  plan: SlotPlan,
  uid: number,
  limits: NetworkLimits,
  rulesets: readonly string[],
): string {
  return `\
set -eu
ip -batch - <<'END'
netns add ${plan.netnsName}
link add ${plan.linkName} group ${linkGroup} type veth peer name ${uplinkName} netns ${plan.netnsName}
link set ${plan.linkName} addrgenmode none
addr add ${plan.hostAddress}/31 dev ${plan.linkName}
link set ${plan.linkName} up
END
if [ -e /proc/sys/net/ipv6/conf/${plan.linkName} ]; then echo 1 > /proc/sys/net/ipv6/conf/${plan.linkName}/disable_ipv6; fi
echo 1 > /proc/sys/net/ipv4/conf/${plan.linkName}/forwarding
exec nsenter --net=${plan.netnsPath} sh -eu <<'END'
if [ -e /proc/sys/net/ipv6 ]; then
  echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6
  echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6
fi
echo 0 > /proc/sys/net/ipv4/icmp_ratemask
echo 0 > /proc/sys/net/ipv4/conf/all/rp_filter
echo 0 > /proc/sys/net/ipv4/conf/default/rp_filter
ip -batch - <<'STEPS'
tuntap add ${tapName} mode tap user ${uid}
addr add ${gatewayAddress}/${guestPrefixLength} dev ${tapName}
addr add ${plan.machineAddress}/31 dev ${uplinkName}
link set ${tapName} up
link set ${uplinkName} up
route add default via ${plan.hostAddress} dev ${uplinkName}
STEPS
nft -f - <<'STEPS'
${rulesets.join('')}STEPS
tc -batch - <<'STEPS'
${shaper(tapName, limits.bandwidthBitsPerSecond)}
${shaper(uplinkName, limits.bandwidthBitsPerSecond)}
STEPS
echo ${timeWaitSeconds} > /proc/sys/net/netfilter/nf_conntrack_tcp_timeout_time_wait
echo 1 > /proc/sys/net/ipv4/ip_forward
END
`;
}

/**
 * The shell script that removes a slot's network, complete or partial, and the host's connections of its machine. Nothing to remove is not
 * an error.
 */
export function removeNamespaceScript({ netnsName, linkName, machineAddress }: SlotPlan): string {
  return `\
set -eu
case "$(ip -o link show dev ${linkName} 2>/dev/null)" in *" group ${linkGroup} "*) ip link del dev ${linkName} ;; esac
if [ -e ${netnsDir}/${netnsName} ]; then ip netns del ${netnsName}; fi
conntrack -D -f ipv4 -s ${machineAddress} >/dev/null 2>&1 || true
nft '${forgetConnectionsRule(linkName)}' 2>/dev/null || true
`;
}

function shaper(device: string, bitsPerSecond: number): string {
  const burstBytes = Math.max(minBurstBytes, Math.ceil(bitsPerSecond / 8 / burstsPerSecond));
  return `qdisc add dev ${device} root tbf rate ${bitsPerSecond}bit burst ${burstBytes}b latency ${shaperLatency}`;
}
