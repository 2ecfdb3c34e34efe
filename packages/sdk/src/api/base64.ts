const pieceBytes = 0x8000;

interface NativeBase64 {
  from(bytes: ArrayBuffer, start: number, length: number): { toString(encoding: 'base64'): string };
  from(text: string, encoding: 'base64'): Uint8Array;
}

/** What Node.js, Bun and Deno have: a hundred times as fast as what every runtime has. */
const { Buffer: native } = globalThis as { Buffer?: NativeBase64 };

export function encodeBase64(bytes: Uint8Array): string {
  if (native) return native.from(bytes.buffer as ArrayBuffer, bytes.byteOffset, bytes.byteLength).toString('base64');
  let binary = '';
  for (let start = 0; start < bytes.length; start += pieceBytes) {
    binary += String.fromCharCode(...bytes.subarray(start, start + pieceBytes));
  }
  return btoa(binary);
}

export function decodeBase64(text: string): Uint8Array<ArrayBuffer> {
  if (native) return new Uint8Array(native.from(text, 'base64'));
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let index = 0; index < binary.length; index += 1) bytes[index] = binary.charCodeAt(index);
  return bytes;
}
