/** A command's bytes as text: what is no UTF-8 becomes U+FFFD, a character cut in two by the capture limit is left out. */
export function decodeOutput(bytes: Uint8Array, cut: boolean): string {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes, { stream: cut });
}
