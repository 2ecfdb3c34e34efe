import { type Cidr, cidr, formatAddress, formatCidr, overlaps } from '../../../ipv4.ts';

/** Where host processes keep the state that they share on one host, until it restarts. */
export const hostStateDir = '/run/mayfly';

/** Slots are numbered 0 to 4095 on one host. */
export const slotCount = 4096;

/** The address of every guest. It is the same in all namespaces. */
export const guestAddress = '10.213.0.2';
/** The gateway and DNS server of every guest. */
export const gatewayAddress = '10.213.0.1';
export const guestPrefixLength = 30;

/** The tap device that QEMU opens. */
export const tapName = 'tap0';
/** The namespace's end of the link to the host. */
export const uplinkName = 'up0';

/** The interface group of Mayfly's links on the host ("mf"). Rules match the group, so they never match other interfaces. */
export const linkGroup = 0x6d66;

/** Where `ip netns` mounts named namespaces. */
export const netnsDir = '/run/netns';

/** The names and link addresses of one slot. */
export interface SlotPlan {
  readonly slot: number;
  readonly netnsName: string;
  readonly netnsPath: string;
  /** The host's end of the link. */
  readonly linkName: string;
  readonly hostAddress: string;
  readonly machineAddress: string;
}

/** Plans a slot in the host's link range, which has a pair of addresses for each slot. */
export function planSlot(slot: number, range: Cidr): SlotPlan {
  if (!Number.isInteger(slot) || slot < 0 || slot >= slotCount) throw new Error(`${slot} is not a slot number.`);
  const netnsName = `mayfly-${slot}`;
  return {
    slot,
    netnsName,
    netnsPath: `${netnsDir}/${netnsName}`,
    linkName: `mf${slot}`,
    hostAddress: formatAddress(range.base + 2 * slot),
    machineAddress: formatAddress(range.base + 2 * slot + 1),
  };
}

/** The ranges that link addresses can come from, in order of preference. Guests can reach none of them. */
export const linkRangeCandidates: readonly Cidr[] = [
  '198.19.192.0/19',
  '10.214.192.0/19',
  '100.127.192.0/19',
  '172.31.192.0/19',
  '192.168.192.0/19',
].map(cidr);

/** Chooses the first range that overlaps no route of the host. Default routes do not count. */
export function chooseLinkRange(routedBlocks: readonly Cidr[]): Cidr {
  const routed = routedBlocks.filter(({ prefixLength }) => prefixLength > 1);
  const free = linkRangeCandidates.find((range) => !routed.some((block) => overlaps(range, block)));
  if (!free) {
    const ranges = linkRangeCandidates.map(formatCidr).join(', ');
    throw new Error(`No address range is free for the links to machines. Remove the host's route to one of ${ranges}.`);
  }
  return free;
}
