/** A multiple of four. */
const pieceCharacters = 65_536;
const [padding, minus, underscore] = Buffer.from('=-_');

/** Decodes base64 in its own place, a piece at a time. Undefined unless it has the usual alphabet, its padding and nothing else. */
export function decodeBase64InPlace(bytes: Buffer): Buffer | undefined {
  if (bytes.length % 4 !== 0) return undefined;
  let end = bytes.length;
  while (end > bytes.length - 2 && bytes[end - 1] === padding) end -= 1;
  const characters = bytes.subarray(0, end);
  // Node would stop at padding, and read the letters of base64url as well.
  for (const foreign of [padding, minus, underscore]) {
    if (foreign !== undefined && characters.includes(foreign)) return undefined;
  }
  let to = 0;
  for (let from = 0; from < end; from += pieceCharacters) {
    const piece = characters.toString('latin1', from, from + pieceCharacters);
    const decodedBytes = bytes.write(piece, to, 'base64');
    // Node leaves out what is no base64.
    if (decodedBytes !== Math.floor((piece.length * 3) / 4)) return undefined;
    to += decodedBytes;
  }
  return bytes.subarray(0, to);
}
