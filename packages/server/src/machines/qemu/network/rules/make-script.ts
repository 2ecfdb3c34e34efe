import {
  gatewayAddress,
  guestPrefixLength,
  linkGroup,
  netnsDir,
  type SlotPlan,
  tapName,
  uplinkName,
} from '../plan/address-plan.ts';
import type { Ceilings } from '../plan/ceilings.ts';

/** How long a packet may wait for its turn under the bandwidth ceiling. */
const shaperLatency = '50ms';

/** At least this much may pass at once, in bytes: a few of the largest packets. */
const smallestBurstBytes = 131_072;

/** How long a closed connection keeps its place in the machine's connection table. */
const closedForSeconds = 10;

/** What of a second's bytes may pass at once. */
const burstsPerSecond = 100;

const shaper = (device: string, bitsPerSecond: number): string => {
  const burstBytes = Math.max(smallestBurstBytes, Math.ceil(bitsPerSecond / 8 / burstsPerSecond));
  return `qdisc add dev ${device} root tbf rate ${bitsPerSecond}bit burst ${burstBytes}b latency ${shaperLatency}`;
};

/** The shell script that makes a machine's namespace with tap, link, shapers and rules. It fails at the first step that does. */
export const makeScript = (plan: SlotPlan, uid: number, ceilings: Ceilings, rulesets: readonly string[]): string => `\
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
${shaper(tapName, ceilings.bandwidthBitsPerSecond)}
${shaper(uplinkName, ceilings.bandwidthBitsPerSecond)}
STEPS
echo ${closedForSeconds} > /proc/sys/net/netfilter/nf_conntrack_tcp_timeout_time_wait
echo 1 > /proc/sys/net/ipv4/ip_forward
END
`;

/** The shell script that removes what a slot has, in part or whole. What is not there is no error. */
export const removeScript = (netnsName: string, linkName: string): string => `\
set -eu
case "$(ip -o link show dev ${linkName} 2>/dev/null)" in *" group ${linkGroup} "*) ip link del dev ${linkName} ;; esac
if [ -e ${netnsDir}/${netnsName} ]; then ip netns del ${netnsName}; fi
`;
