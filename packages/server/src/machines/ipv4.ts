import ipaddr from 'ipaddr.js';

/** A block of IPv4 addresses. */
export interface Cidr {
  /** The first address as an unsigned 32-bit number. */
  readonly base: number;
  readonly prefixLength: number;
}

/** Formats an address in dotted decimal. */
export function formatAddress(address: number): string {
  return [24, 16, 8, 0].map((shift) => (address >>> shift) & 0xff).join('.');
}

/** Parses "a.b.c.d/n" or a single address and clears the host bits. Returns undefined for any other text. */
export function parseCidr(text: string): Cidr | undefined {
  const block = text.includes('/') ? text : `${text}/32`;
  if (!ipaddr.IPv4.isValidCIDRFourPartDecimal(block)) return undefined;
  const [, prefixLength] = ipaddr.IPv4.parseCIDR(block);
  const { octets } = ipaddr.IPv4.networkAddressFromCIDR(block);
  return { base: octets.reduce((sum, octet) => sum * 256 + octet, 0), prefixLength };
}

/** Parses a block that must be valid, such as a constant. */
export function cidr(text: string): Cidr {
  const parsed = parseCidr(text);
  if (!parsed) throw new Error(`${JSON.stringify(text)} is not an IPv4 CIDR block.`);
  return parsed;
}

/** Formats a block as "a.b.c.d/n", or as an address when it holds only one. */
export function formatCidr({ base, prefixLength }: Cidr): string {
  return prefixLength === 32 ? formatAddress(base) : `${formatAddress(base)}/${prefixLength}`;
}

/** Whether `outer` contains all of `inner`. */
export function containsCidr(outer: Cidr, inner: Cidr): boolean {
  const outerSize = 2 ** (32 - outer.prefixLength);
  return inner.prefixLength >= outer.prefixLength && inner.base >= outer.base && inner.base < outer.base + outerSize;
}

/** Whether two blocks share an address. */
export function overlaps(a: Cidr, b: Cidr): boolean {
  return containsCidr(a, b) || containsCidr(b, a);
}

/** Removes duplicates and blocks that lie in other blocks. Sorts the rest by address. */
export function withoutNested(blocks: readonly Cidr[]): Cidr[] {
  const sorted = blocks.toSorted((a, b) => a.base - b.base || a.prefixLength - b.prefixLength);
  const kept: Cidr[] = [];
  for (const block of sorted) {
    const last = kept.at(-1);
    if (!last || !containsCidr(last, block)) kept.push(block);
  }
  return kept;
}
