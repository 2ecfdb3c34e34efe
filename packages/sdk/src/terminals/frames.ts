/** One frame of the WebSocket protocol (RFC 6455). */
export interface Frame {
  readonly isLast: boolean;
  readonly opcode: number;
  readonly payload: Uint8Array;
}

export const opcodes = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;

const maxPayloadBytes = 64 * 1024 ** 2;

/** A frame of a client. Its payload is masked, as the protocol demands. */
export function clientFrame(opcode: number, payload: Uint8Array): Uint8Array {
  const { length } = payload;
  const extraBytes = length < 126 ? 0 : length < 65_536 ? 2 : 8;
  const frame = new Uint8Array(6 + extraBytes + length);
  const view = new DataView(frame.buffer);
  frame[0] = 0x80 | opcode;
  frame[1] = 0x80 | (extraBytes === 0 ? length : extraBytes === 2 ? 126 : 127);
  if (extraBytes === 2) view.setUint16(2, length);
  if (extraBytes === 8) view.setBigUint64(2, BigInt(length));
  const mask = crypto.getRandomValues(frame.subarray(2 + extraBytes, 6 + extraBytes));
  for (let index = 0; index < length; index += 1) {
    frame[6 + extraBytes + index] = (payload[index] ?? 0) ^ (mask[index % 4] ?? 0);
  }
  return frame;
}

/** Splits the bytes of a server into frames. Throws if they are none. */
export class FrameParser {
  #bytes = new Uint8Array();

  *push(chunk: Uint8Array): Generator<Frame, void> {
    const joined = new Uint8Array(this.#bytes.length + chunk.length);
    joined.set(this.#bytes);
    joined.set(chunk, this.#bytes.length);
    this.#bytes = joined;
    for (let frame = this.#next(); frame !== undefined; frame = this.#next()) yield frame;
  }

  #next(): Frame | undefined {
    const [first, second] = this.#bytes;
    if (first === undefined || second === undefined) return undefined;
    if ((first & 0x70) !== 0 || (second & 0x80) !== 0) throw new Error('the frame is not valid');
    const view = new DataView(this.#bytes.buffer, this.#bytes.byteOffset, this.#bytes.length);
    const shortLength = second & 0x7f;
    const start = shortLength < 126 ? 2 : shortLength === 126 ? 4 : 10;
    if (view.byteLength < start) return undefined;
    const length = start === 2 ? shortLength : start === 4 ? view.getUint16(2) : Number(view.getBigUint64(2));
    if (length > maxPayloadBytes) throw new Error('the frame is too large');
    if (view.byteLength < start + length) return undefined;
    const payload = this.#bytes.slice(start, start + length);
    this.#bytes = this.#bytes.subarray(start + length);
    return { isLast: (first & 0x80) !== 0, opcode: first & 0x0f, payload };
  }
}
