/** Returns a key that no other request has. `crypto.randomUUID` exists only on https and on localhost. */
export function newIdempotencyKey(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}
