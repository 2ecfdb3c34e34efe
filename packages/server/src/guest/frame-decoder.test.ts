import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { chunked } from '../../test/guest/chunked.ts';
import { frame } from '../../test/guest/peer.ts';
import { FrameDecoder, FrameTooLarge } from './frame-decoder.ts';
import { ProtocolViolation } from './protocol-violation.ts';

type Seen = readonly [type: number, hex: string];

function decode(chunks: readonly Buffer[]): Seen[] {
  const seen: Seen[] = [];
  const decoder = new FrameDecoder((type, payload) => seen.push([type, payload.toString('hex')]));
  for (const chunk of chunks) decoder.push(chunk);
  decoder.finish();
  return seen;
}

const sizes = fc.array(fc.integer({ min: 1, max: 64 }));

describe('FrameDecoder', () => {
  it('gives the same frames however the stream is cut', () => {
    const frames = fc.array(fc.tuple(fc.nat(255), fc.uint8Array({ maxLength: 200 })), { maxLength: 10 });
    fc.assert(
      fc.property(frames, sizes, (list, cuts) => {
        const wire = Buffer.concat(list.map(([type, payload]) => frame(type, Buffer.from(payload))));
        const expected = list.map(([type, payload]) => [type, Buffer.from(payload).toString('hex')]);
        expect(decode(chunked(wire, cuts))).toEqual(expected);
      }),
      { numRuns: 500 },
    );
  });

  it('meets garbage with frames or a ProtocolViolation, nothing else', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 500 }), sizes, (bytes, cuts) => {
        try {
          decode(chunked(Buffer.from(bytes), cuts));
        } catch (error) {
          expect(error).toBeInstanceOf(ProtocolViolation);
        }
      }),
      { numRuns: 1_000 },
    );
  });

  it('takes the largest frame and refuses one byte more before reading it', () => {
    const largest = frame(1, Buffer.alloc(65_536, 7));
    expect(decode(chunked(largest, [4_096]))).toHaveLength(1);
    const header = Buffer.from([1, 0, 1, 0, 1]);
    expect(() => decode([header])).toThrow(FrameTooLarge);
  });
});
