const handshakeRecord = 22;
const recordHeaderBytes = 5;
const clientHello = 1;
const messageHeaderBytes = 4;

/** The longest ClientHello. Usual ones have 0.5 to 2 KiB. */
export const maxClientHelloBytes = 32_768;

/** How much of its first message a TLS client has sent; `invalid` if what it sent is not one. */
type ClientHelloState = 'incomplete' | 'complete' | 'invalid';

/** Reads the first message of a TLS client (ClientHello), which may be spread over several records. Looks at each byte once, however slowly they arrive. */
export class ClientHelloReader {
  #received = Buffer.alloc(0);
  /** What has arrived of the header of the present record, and of the message's. */
  #recordHeader: number[] = [];
  #messageHeader: number[] = [];
  #recordBytesLeft = 0;
  #messageBytes = 0;

  push(chunk: Buffer): ClientHelloState {
    this.#received = Buffer.concat([this.#received, chunk]);
    for (let at = 0; at < chunk.length; ) {
      if (this.#recordBytesLeft === 0) {
        if (!this.#readRecordHeader(chunk.readUInt8(at))) return 'invalid';
        at += 1;
        continue;
      }
      const end = Math.min(chunk.length, at + this.#recordBytesLeft);
      this.#messageHeader.push(
        ...chunk.subarray(at, Math.min(end, at + messageHeaderBytes - this.#messageHeader.length)),
      );
      this.#messageBytes += end - at;
      this.#recordBytesLeft -= end - at;
      at = end;
      const [type, high = 0, middle = 0, low] = this.#messageHeader;
      if (type !== clientHello) return 'invalid';
      if (low !== undefined && this.#messageBytes >= messageHeaderBytes + high * 65_536 + middle * 256 + low) {
        return 'complete';
      }
    }
    return this.#received.length > maxClientHelloBytes ? 'invalid' : 'incomplete';
  }

  /** Returns all that has arrived, and forgets it. */
  take(): Buffer {
    const received = this.#received;
    this.#received = Buffer.alloc(0);
    return received;
  }

  /** False if this is not the header of a record with a part of a handshake. Such records are not empty. */
  #readRecordHeader(byte: number): boolean {
    this.#recordHeader.push(byte);
    const [type, , , high = 0, low = 0] = this.#recordHeader;
    if (type !== handshakeRecord) return false;
    if (this.#recordHeader.length < recordHeaderBytes) return true;
    this.#recordBytesLeft = high * 256 + low;
    this.#recordHeader = [];
    return this.#recordBytesLeft > 0;
  }
}
