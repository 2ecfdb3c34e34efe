/** The tags of ASN.1 that certificates are put together from. */
export const tags = { integer: 0x02, bitString: 0x03, sequence: 0x30, version: 0xa0, extensions: 0xa3 } as const;

/** A DER value: the parts one after the other under a tag. */
export function der(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const body = Buffer.concat(parts);
  return Buffer.concat([Buffer.from([tag, ...lengthOf(body)]), body]);
}

function lengthOf({ length }: Uint8Array): readonly number[] {
  if (length < 0x80) return [length];
  if (length < 0x100) return [0x81, length];
  if (length < 0x1_0000) return [0x82, length >> 8, length & 0xff];
  throw new RangeError(`${length} bytes are too many for a part of a certificate`);
}
