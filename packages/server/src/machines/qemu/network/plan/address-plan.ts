import { type Cidr, formatAddress } from './ipv4.ts';

/** Slots are numbered 0 to 4095 on one host. */
export const slotCount = 4096;

/** What every guest has; the same in all namespaces. */
export const guestAddress = '10.213.0.2';
/** The gateway and DNS server of every guest. */
export const gatewayAddress = '10.213.0.1';
/** The length of the guest's network prefix. */
export const guestPrefixLength = 30;

/** The tap that QEMU opens. */
export const tapName = 'tap0';
/** The namespace's end of the link to the host. */
export const uplinkName = 'up0';

/** The interface group of all our links on the host: "mf". Rules match it, so no other interface is ever meant. */
export const linkGroup = 0x6d66;

/** Where named namespaces live. */
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

/** The namespace of a slot. */
export const netnsNameOf = (slot: number): string => `mayfly-${slot}`;

/** The host's end of a slot's link. */
export const linkNameOf = (slot: number): string => `mf${slot}`;

/** The plan of a slot in the host's link range, which has a pair of addresses for each slot. */
export const planSlot = (slot: number, range: Cidr): SlotPlan => {
  if (!Number.isInteger(slot) || slot < 0 || slot >= slotCount) throw new Error(`not a slot: ${slot}`);
  const netnsName = netnsNameOf(slot);
  return {
    slot,
    netnsName,
    netnsPath: `${netnsDir}/${netnsName}`,
    linkName: linkNameOf(slot),
    hostAddress: formatAddress(range.base + 2 * slot),
    machineAddress: formatAddress(range.base + 2 * slot + 1),
  };
};
