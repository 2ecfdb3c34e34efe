import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { chunked } from '../../../test/guest/chunked.ts';
import { rawFrame } from '../../../test/guest/raw-http2.ts';
import { ProtocolViolation } from '../guest-errors.ts';
import { guestLimits } from '../guest-limits.ts';
import { FrameGate } from './frame-gate.ts';

const unlimited = Number.POSITIVE_INFINITY;

/** Returns how many of these frames pass, one after the other. */
function passing(frame: Buffer, count: number, sentBytes: () => number = () => 0): number {
  const gate = new FrameGate(sentBytes);
  for (let passed = 0; passed < count; passed += 1) {
    try {
      expect(gate.admit(frame, unlimited).end).toBe(frame.length);
    } catch (error) {
      expect(error).toBeInstanceOf(ProtocolViolation);
      return passed;
    }
  }
  return count;
}

describe('FrameGate', () => {
  it('accepts the types that an agent sends, and no other', () => {
    const endHeaders = 4;
    const accepted = Array.from({ length: 256 }, (_, type) => type).filter(
      (type) => passing(rawFrame(type, endHeaders, 1, Buffer.alloc(4)), 1) === 1,
    );
    // DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE
    expect(accepted).toEqual([0, 1, 3, 4, 6, 7, 8]);
  });

  it.each([
    ['DATA', 0],
    ['HEADERS', 1],
  ])('refuses padded %s, and headers that continue in another frame, whatever the other flags', (_, type) => {
    for (let flags = 0; flags < 256; flags += 1) {
      const isPadded = (flags & 8) !== 0;
      const continues = type === 1 && (flags & 4) === 0;
      const expected = isPadded || continues ? 0 : 1;
      expect([flags, passing(rawFrame(type, flags, 1, Buffer.from('x')), 1)]).toEqual([flags, expected]);
    }
  });

  it('refuses frames and headers that are too long', () => {
    const longest = guestLimits.http2FrameBytes;
    expect(passing(rawFrame(0, 0, 1, Buffer.alloc(longest)), 1)).toBe(1);
    expect(passing(rawFrame(0, 0, 1, Buffer.alloc(longest + 1)), 1)).toBe(0);
    expect(passing(rawFrame(1, 4, 1, Buffer.alloc(guestLimits.headersFrameBytes)), 1)).toBe(1);
    expect(passing(rawFrame(1, 4, 1, Buffer.alloc(guestLimits.headersFrameBytes + 1)), 1)).toBe(0);
  });

  it.each([
    ['pings', rawFrame(6, 0, 0, Buffer.alloc(8))],
    ['settings', rawFrame(4, 0, 0, Buffer.alloc(0))],
  ])('accepts few %s, however much the service sent', (_, frame) => {
    expect(passing(frame, 100_000, () => 2 ** 40)).toBe(guestLimits.unexpectedFrames);
  });

  const counted: [string, Buffer, number][] = [
    ['answers to pings', rawFrame(6, 1, 0, Buffer.alloc(8)), 1],
    ['answers to settings', rawFrame(4, 1, 0, Buffer.alloc(0)), 1],
    ['resets', rawFrame(3, 0, 1, Buffer.alloc(4)), 1],
    ['window updates', rawFrame(8, 0, 1, Buffer.from([0, 0, 0, 1])), 1],
    ['empty data', rawFrame(0, 0, 1, Buffer.alloc(0)), 1],
    ['empty data that ends a stream', rawFrame(0, 1, 1, Buffer.alloc(0)), 1],
    ['short headers', rawFrame(1, 4, 1, Buffer.alloc(1)), 1],
    ['long headers', rawFrame(1, 4, 1, Buffer.alloc(1_000)), 32],
  ];

  it.each(counted)('accepts a few %s without any request', (_, frame, units) => {
    expect(passing(frame, 100_000)).toBe(Math.floor(guestLimits.frameCredit / units));
  });

  it.each(counted)(
    'accepts more %s when the service sends more, and none of the past beyond the limit',
    (_, frame, units) => {
      let sentBytes = 0;
      const gate = new FrameGate(() => sentBytes);
      for (let round = 0; round < 1_000; round += 1) {
        sentBytes += units * guestLimits.sentBytesPerFrame;
        gate.admit(frame, unlimited);
      }
      sentBytes += 2 ** 40;
      let passed = 0;
      expect(() => {
        for (; passed < 100_000; passed += 1) gate.admit(frame, unlimited);
      }).toThrow('too many HTTP/2 control frames');
      expect(passed * units).toBeLessThanOrEqual(guestLimits.frameCredit + guestLimits.mostFrameCredit);
    },
  );

  it('accepts data without end', () => {
    expect(passing(rawFrame(0, 0, 1, Buffer.from('x')), 20_000)).toBe(20_000);
  });

  const frames = fc
    .array(
      fc.oneof(
        fc.uint8Array({ maxLength: 300 }).map((bytes) => rawFrame(0, 0, 1, Buffer.from(bytes))),
        fc.uint8Array({ maxLength: 300 }).map((bytes) => rawFrame(1, 4, 3, Buffer.from(bytes))),
        fc.constant(rawFrame(8, 0, 0, Buffer.from([0, 0, 0, 1]))),
      ),
      { minLength: 1, maxLength: 40 },
    )
    .map((parts) => Buffer.concat(parts));

  it('lets whole frames through up to the allowance, and the rest later, however the stream is chunked', () => {
    fc.assert(
      fc.property(
        frames,
        fc.integer({ min: 1, max: 5 }),
        fc.array(fc.integer({ min: 1, max: 50 })),
        (bytes, allowance, sizes) => {
          const gate = new FrameGate(() => 2 ** 30);
          let passed = 0;
          for (const chunk of chunked(bytes, sizes)) {
            for (let rest = chunk; rest.length > 0; ) {
              const { end, allowance: left } = gate.admit(rest, allowance);
              expect(end).toBeGreaterThan(0);
              if (end < rest.length) expect(left).toBeLessThanOrEqual(0);
              passed += end;
              rest = rest.subarray(end);
            }
          }
          expect(passed).toBe(bytes.length);
        },
      ),
    );
  });

  it('stops in front of the first frame beyond the allowance', () => {
    const frame = rawFrame(0, 0, 1, Buffer.alloc(10));
    const gate = new FrameGate(() => 0);
    const many = Buffer.concat(Array<Buffer>(10).fill(frame));
    expect(gate.admit(many, 3)).toEqual({ end: 3 * frame.length, allowance: 0 });
    expect(gate.admit(many, 0)).toEqual({ end: 0, allowance: 0 });
  });
});
