const handshakeRecord = 22;
const recordHeaderBytes = 5;
const clientHello = 1;
const messageHeaderBytes = 4;

/** The longest first message of a client. Usual ones have 0.5 to 2 KiB. */
export const maxGreetingBytes = 32_768;

/** How much of its first message a TLS client has sent; `invalid` if its first bytes are none. */
type GreetingState = 'incomplete' | 'complete' | 'invalid';

/** Looks for the first message of a TLS client (ClientHello), which may be spread over several records, at the start of what a connection has received. */
export function greetingState(received: Buffer): GreetingState {
  const header: number[] = [];
  let messageBytes = 0;
  let at = 0;
  while (at < received.length) {
    if (received[at] !== handshakeRecord) return 'invalid';
    const start = at + recordHeaderBytes;
    if (received.length < start) break;
    const end = start + received.readUInt16BE(start - 2);
    if (received.length < end) break;
    header.push(...received.subarray(start, Math.min(end, start + messageHeaderBytes - header.length)));
    messageBytes += end - start;
    const [type, high = 0, middle = 0, low] = header;
    if (low !== undefined) {
      if (type !== clientHello) return 'invalid';
      if (messageBytes >= messageHeaderBytes + high * 65_536 + middle * 256 + low) return 'complete';
    }
    at = end;
  }
  return received.length > maxGreetingBytes ? 'invalid' : 'incomplete';
}
