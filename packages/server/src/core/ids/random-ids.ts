import { randomBytes } from 'node:crypto';
import type { Ids } from '../ports/runtime.ts';

const alphabet = 'abcdefghijklmnopqrstuvwxyz234567';

/** Encodes bytes as lower-case base32 without padding; 15 bytes give 24 characters. */
export function encodeBase32(bytes: Uint8Array): string {
  let text = '';
  let held = 0;
  let heldBits = 0;
  for (const byte of bytes) {
    held = ((held << 8) | byte) & 0xfff;
    heldBits += 8;
    while (heldBits >= 5) {
      heldBits -= 5;
      text += alphabet.charAt((held >> heldBits) & 31);
    }
  }
  return heldBits > 0 ? text + alphabet.charAt((held << (5 - heldBits)) & 31) : text;
}

/** Ids with 120 random bits, e.g. `sbx_3k5v…`. Valid in host names once the underscore is replaced. */
export const randomIds: Ids = { next: (kind) => `${kind}_${encodeBase32(randomBytes(15))}` };
