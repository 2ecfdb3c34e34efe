import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { chunked } from '../../../test/guest/chunked.ts';
import { MarkerScanner } from './synchronise.ts';

const marker = Buffer.from('MAYFLY-SYNC 00ff\n');

function scan(chunks: readonly Buffer[]): Buffer | undefined {
  const scanner = new MarkerScanner(marker);
  let found: Buffer | undefined;
  for (const chunk of chunks) {
    if (found !== undefined) found = Buffer.concat([found, chunk]);
    else found = scanner.push(chunk);
  }
  return found;
}

/** Noise with parts of the marker, so that near misses are common. */
const noise = fc
  .array(
    fc.oneof(
      fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
      fc.nat(marker.length - 1).map((length) => marker.subarray(0, length)),
      fc.nat(marker.length - 1).map((start) => marker.subarray(start + 1)),
    ),
    { maxLength: 8 },
  )
  .map((parts) => Buffer.concat(parts));

describe('MarkerScanner', () => {
  it('finds the first marker and loses no byte after it, however the stream is chunked', () => {
    fc.assert(
      fc.property(noise, noise, fc.array(fc.integer({ min: 1, max: 50 })), (before, after, sizes) => {
        const whole = Buffer.concat([before, marker, after]);
        const expected = whole.subarray(whole.indexOf(marker) + marker.length);
        expect(scan(chunked(whole, sizes))?.toString('hex')).toBe(expected.toString('hex'));
      }),
      { numRuns: 1_000 },
    );
  });

  it('finds nothing without a marker, and counts the dropped bytes', () => {
    fc.assert(
      fc.property(noise, fc.array(fc.integer({ min: 1, max: 50 })), (bytes, sizes) => {
        fc.pre(!bytes.includes(marker));
        const scanner = new MarkerScanner(marker);
        for (const chunk of chunked(bytes, sizes)) expect(scanner.push(chunk)).toBeUndefined();
        expect(scanner.droppedBytes).toBe(bytes.length);
      }),
    );
  });
});
