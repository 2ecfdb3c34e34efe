/** A block of IPv4 addresses. */
export interface Cidr {
  /** The first address as an unsigned 32-bit number. */
  readonly base: number;
  readonly prefixLength: number;
}

const addressPattern = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/;

const maskOf = (prefixLength: number): number => (prefixLength === 0 ? 0 : (-1 << (32 - prefixLength)) >>> 0);

/** The number of a dotted address; undefined when it is not one. */
export const parseAddress = (text: string): number | undefined => {
  const parts = addressPattern.exec(text)?.slice(1).map(Number);
  if (!parts || parts.some((part) => part > 255)) return undefined;
  return parts.reduce((sum, part) => sum * 256 + part, 0);
};

/** The dotted form of an address. */
export const formatAddress = (address: number): string =>
  [24, 16, 8, 0].map((shift) => (address >>> shift) & 0xff).join('.');

/** The block of "a.b.c.d/n" or of a single address; undefined when it is neither. Host bits are cleared. */
export const parseCidr = (text: string): Cidr | undefined => {
  const [addressText = '', lengthText = '32', ...rest] = text.split('/');
  const address = parseAddress(addressText);
  if (address === undefined || rest.length > 0 || !/^\d{1,2}$/.test(lengthText)) return undefined;
  const prefixLength = Number(lengthText);
  if (prefixLength > 32) return undefined;
  return { base: (address & maskOf(prefixLength)) >>> 0, prefixLength };
};

/** The block that constants of this folder name. Fails on a typing error. */
export const cidr = (text: string): Cidr => {
  const parsed = parseCidr(text);
  if (!parsed) throw new Error(`not a CIDR: ${text}`);
  return parsed;
};

/** The usual form of a block. */
export const formatCidr = ({ base, prefixLength }: Cidr): string =>
  prefixLength === 32 ? formatAddress(base) : `${formatAddress(base)}/${prefixLength}`;

/** Whether all of `inner` lies in `outer`. */
export const containsCidr = (outer: Cidr, inner: Cidr): boolean =>
  inner.prefixLength >= outer.prefixLength && (inner.base & maskOf(outer.prefixLength)) >>> 0 === outer.base;

/** Whether two blocks share an address. */
export const overlaps = (a: Cidr, b: Cidr): boolean => containsCidr(a, b) || containsCidr(b, a);

/** The same addresses without blocks that lie in others, in order of address. */
export const withoutNested = (blocks: readonly Cidr[]): Cidr[] =>
  blocks
    .filter(
      (block, index) =>
        !blocks.some(
          (other, at) =>
            at !== index && containsCidr(other, block) && (other.prefixLength < block.prefixLength || at < index),
        ),
    )
    .sort((a, b) => a.base - b.base);
