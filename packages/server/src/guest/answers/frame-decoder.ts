import { FrameTooLarge, ProtocolViolation } from '../guest-errors.ts';
import { guestLimits } from '../guest-limits.ts';

const headerBytes = 5;

/** Splits a byte stream into frames (docs/agent-protocol.md), however it is chunked. Buffers at most one frame. */
export class FrameDecoder {
  readonly #onFrame: (type: number, payload: Buffer) => void;
  readonly #header = Buffer.alloc(headerBytes);
  #headerUsed = 0;
  #payload: Buffer | undefined;
  #payloadUsed = 0;

  /** The payload passed to `onFrame` may be a view of the chunk; copy what must be kept. */
  constructor(onFrame: (type: number, payload: Buffer) => void) {
    this.#onFrame = onFrame;
  }

  /** Throws only FrameTooLarge and what onFrame throws. */
  push(chunk: Buffer): void {
    let at = 0;
    while (at < chunk.length) {
      if (this.#payload === undefined) at = this.#takeHeader(chunk, at);
      else at = this.#takeRest(chunk, at, this.#payload);
    }
  }

  /** Throws ProtocolViolation if the stream ends inside a frame. */
  finish(): void {
    if (this.#headerUsed > 0) throw new ProtocolViolation('the stream ended inside a frame');
  }

  #takeHeader(chunk: Buffer, start: number): number {
    const copied = chunk.copy(this.#header, this.#headerUsed, start, start + headerBytes - this.#headerUsed);
    this.#headerUsed += copied;
    const at = start + copied;
    if (this.#headerUsed < headerBytes) return at;
    const length = this.#header.readUInt32BE(1);
    if (length > guestLimits.framePayloadBytes) throw new FrameTooLarge(`a frame of ${length} bytes`);
    if (chunk.length - at >= length) {
      this.#emit(chunk.subarray(at, at + length));
      return at + length;
    }
    this.#payload = Buffer.allocUnsafeSlow(length);
    this.#payloadUsed = 0;
    return at;
  }

  #takeRest(chunk: Buffer, start: number, payload: Buffer): number {
    const copied = chunk.copy(payload, this.#payloadUsed, start);
    this.#payloadUsed += copied;
    if (this.#payloadUsed === payload.length) this.#emit(payload);
    return start + copied;
  }

  #emit(payload: Buffer): void {
    this.#headerUsed = 0;
    this.#payload = undefined;
    this.#onFrame(this.#header.readUInt8(0), payload);
  }
}
