import { ProtocolViolation } from '../guest-errors.ts';
import { guestLimits } from '../guest-limits.ts';

const headerBytes = 9;
const type = { data: 0, headers: 1, reset: 3, settings: 4, ping: 6, goaway: 7, windowUpdate: 8 } as const;
const flag = { endStreamOrAck: 0x1, endHeaders: 0x4, padded: 0x8 } as const;

/**
 * Decides which HTTP/2 frames of an agent may reach `node:http2`, from their headers alone. Frames that an agent never sends are refused. Those that
 * cost time without being an answer are paid for by what the service sent: an agent has no reason to send many more of them.
 */
export class FrameGate {
  readonly #sentBytes: () => number;
  readonly #header = Buffer.alloc(headerBytes);
  #headerLength = 0;
  #payloadLeft = 0;
  #credit: number = guestLimits.frameCredit;
  #paidBytes = 0;
  #unsolicited = 0;

  /** `sentBytes` returns how much the service has sent on this connection. */
  constructor(sentBytes: () => number) {
    this.#sentBytes = sentBytes;
  }

  /**
   * Returns how many bytes of the chunk may pass: all, or those in front of the frame for which the allowance does not suffice any more; and what is left of
   * the allowance. Throws ProtocolViolation at a frame that must not pass at all.
   */
  admit(chunk: Buffer, allowance: number): { readonly end: number; readonly allowance: number } {
    let at = 0;
    let left = allowance;
    while (at < chunk.length) {
      if (this.#payloadLeft > 0) {
        const step = Math.min(this.#payloadLeft, chunk.length - at);
        this.#payloadLeft -= step;
        at += step;
        continue;
      }
      if (this.#headerLength === 0 && left <= 0) break;
      const step = Math.min(headerBytes - this.#headerLength, chunk.length - at);
      chunk.copy(this.#header, this.#headerLength, at, at + step);
      this.#headerLength += step;
      at += step;
      if (this.#headerLength < headerBytes) break;
      this.#headerLength = 0;
      left -= this.#judge();
    }
    return { end: at, allowance: left };
  }

  /** Judges the frame whose header is complete. Returns how many frames it counts as. */
  #judge(): number {
    const length = this.#header.readUIntBE(0, 3);
    const kind = this.#header.readUInt8(3);
    const flags = this.#header.readUInt8(4);
    if (length > guestLimits.http2FrameBytes) throw new ProtocolViolation(`an HTTP/2 frame of ${length} bytes`);
    this.#payloadLeft = length;
    switch (kind) {
      case type.data:
        if ((flags & flag.padded) !== 0) throw new ProtocolViolation('a padded HTTP/2 frame');
        if (length === 0) this.#charge(1);
        return 1;
      case type.headers: {
        if ((flags & flag.padded) !== 0) throw new ProtocolViolation('a padded HTTP/2 frame');
        if ((flags & flag.endHeaders) === 0 || length > guestLimits.headersFrameBytes) {
          throw new ProtocolViolation('headers that are too long');
        }
        const units = 1 + Math.floor(length / guestLimits.headersBytesPerFrame);
        this.#charge(units);
        return units;
      }
      case type.settings:
      case type.ping:
        if ((flags & flag.endStreamOrAck) === 0) this.#countUnsolicited();
        this.#charge(1);
        return 1;
      case type.reset:
      case type.goaway:
      case type.windowUpdate:
        this.#charge(1);
        return 1;
      default:
        throw new ProtocolViolation(`an HTTP/2 frame of type ${kind}`);
    }
  }

  #countUnsolicited(): void {
    this.#unsolicited += 1;
    if (this.#unsolicited > guestLimits.unexpectedFrames) {
      throw new ProtocolViolation('too many HTTP/2 pings and settings');
    }
  }

  /** Takes credit, which what the service sent since the last time renews. */
  #charge(units: number): void {
    if (this.#credit < units) {
      const sentBytes = this.#sentBytes();
      const earned = Math.floor((sentBytes - this.#paidBytes) / guestLimits.sentBytesPerFrame);
      this.#credit = Math.min(guestLimits.mostFrameCredit, this.#credit + earned);
      this.#paidBytes += earned * guestLimits.sentBytesPerFrame;
    }
    if (this.#credit < units) throw new ProtocolViolation('too many HTTP/2 control frames');
    this.#credit -= units;
  }
}
