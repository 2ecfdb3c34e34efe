const backslash = 0x5c;
const letterU = 0x75;
const defaultPieceBytes = 65_536;

/**
 * Turns the inside of a JSON string, in UTF-8, into the bytes of its text: in their own place, a piece at a time. Half of a surrogate
 * pair becomes U+FFFD. Undefined if it is no JSON string.
 */
export function unescapeInPlace(bytes: Buffer, pieceBytes = defaultPieceBytes): Buffer | undefined {
  let from = 0;
  let to = 0;
  let held = '';
  while (from < bytes.length) {
    const end = pieceEnd(bytes, from, from + pieceBytes);
    const text = parsePiece(bytes, from, end);
    if (text === undefined) return undefined;
    const whole = held + text;
    // Its other half may follow in the next piece.
    const cut =
      end < bytes.length && isHighSurrogate(whole.charCodeAt(whole.length - 1)) ? whole.length - 1 : whole.length;
    held = whole.slice(cut);
    // A text is never longer than what stands for it in JSON, so this overtakes nothing that is still to be read.
    to += bytes.write(whole.slice(0, cut), to, 'utf8');
    from = end;
  }
  return bytes.subarray(0, to);
}

function parsePiece(bytes: Buffer, from: number, end: number): string | undefined {
  try {
    return JSON.parse(`"${bytes.toString('utf8', from, end)}"`) as string;
  } catch {
    return undefined;
  }
}

/** The last place up to `limit` that is neither inside a character nor inside an escape. */
function pieceEnd(bytes: Buffer, from: number, limit: number): number {
  if (limit >= bytes.length) return bytes.length;
  let end = limit;
  while (((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  for (let at = end - 1; at >= end - 5; at -= 1) {
    if (bytes[at] !== backslash) continue;
    if (!opensEscape(bytes, from, at)) return end;
    const escapeBytes = bytes[at + 1] === letterU ? 6 : 2;
    return at + escapeBytes > end ? at : end;
  }
  return end;
}

/** Whether a backslash is not itself behind one; `from` is the beginning of a character. */
function opensEscape(bytes: Buffer, from: number, at: number): boolean {
  let first = at;
  while (first > from && bytes[first - 1] === backslash) first -= 1;
  return (at - first) % 2 === 0;
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit < 0xdc00;
}
