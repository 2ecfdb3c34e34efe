import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { chunked } from '../../../test/guest/chunked.ts';
import { frame } from '../../../test/guest/peer.ts';
import { FrameTooLarge, ProtocolViolation } from '../guest-errors.ts';
import { FrameDecoder } from './frame-decoder.ts';

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
  it('decodes the same frames however the stream is chunked', () => {
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

  it('decodes garbage or throws a ProtocolViolation', () => {
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

  it('accepts the largest frame and refuses a larger one before reading it', () => {
    const largest = frame(1, Buffer.alloc(65_536, 7));
    expect(decode(chunked(largest, [4_096]))).toHaveLength(1);
    const header = Buffer.from([1, 0, 1, 0, 1]);
    expect(() => decode([header])).toThrow(FrameTooLarge);
  });
});
