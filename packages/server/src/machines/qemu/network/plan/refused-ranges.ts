import { type Cidr, cidr, containsCidr, withoutNested } from '../../../ipv4.ts';

/**
 * Destinations that no policy can allow: "this network", private, shared, loopback, link-local, reserved and multicast, and the address of
 * Azure's host agent, which is the only service of a cloud outside of these ranges.
 */
export const refusedRanges: readonly Cidr[] = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '168.63.129.16',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '224.0.0.0/4',
  '240.0.0.0/4',
].map(cidr);

/** The fixed ranges and the operator's, without duplicates. */
export function allRefused(operatorRanges: readonly Cidr[]): readonly Cidr[] {
  return withoutNested([...refusedRanges, ...operatorRanges]);
}

/** The TCP ports of mail servers. Connections to them are rejected immediately. */
export const refusedTcpPorts: readonly number[] = [25, 465, 587];

/** Whether all of a block is refused. */
export function isRefused(block: Cidr): boolean {
  return refusedRanges.some((range) => containsCidr(range, block));
}
