import fc from 'fast-check';

/** A change of an input. Positions are modulo its length. */
export type Mutation =
  | { readonly kind: 'flip'; readonly at: number; readonly bit: number }
  | { readonly kind: 'write'; readonly at: number; readonly bytes: Buffer }
  | { readonly kind: 'insert'; readonly at: number; readonly bytes: Buffer }
  | { readonly kind: 'remove'; readonly at: number; readonly length: number }
  | { readonly kind: 'repeat'; readonly at: number; readonly length: number; readonly times: number };

/** Boundary values that break parsers, as bytes. */
const edges = [
  '00',
  '7f',
  '80',
  'ff',
  '0000',
  'ffff',
  '00000000',
  '7fffffff',
  '80000000',
  'ffffffff',
  '00010000',
  '00010001',
];
/** Texts that break parsers. */
const texts = [
  '-1',
  '1e308',
  '0.5',
  'null',
  '{}',
  '[]',
  '"',
  '\\',
  '\\ud800',
  '"__proto__":',
  '\n',
  '\r\n',
  '[[[[[[[[',
  '9'.repeat(30),
];

const dictionary = [...edges.map((hex) => Buffer.from(hex, 'hex')), ...texts.map((text) => Buffer.from(text))];

/** Lists of changes; some splice in parts of other inputs. */
export function mutations(corpus: readonly Buffer[]): fc.Arbitrary<Mutation[]> {
  const at = fc.nat(1_000_000);
  const piece = fc.oneof(
    fc.constantFrom(...dictionary),
    fc.uint8Array({ maxLength: 16 }).map((bytes) => Buffer.from(bytes)),
    fc.tuple(fc.constantFrom(...corpus), at, fc.nat(200)).map(([other, from, length]) => {
      const start = other.length === 0 ? 0 : from % other.length;
      return other.subarray(start, start + length);
    }),
  );
  const change: fc.Arbitrary<Mutation> = fc.oneof(
    fc.record({ kind: fc.constant('flip' as const), at, bit: fc.nat(7) }),
    fc.record({ kind: fc.constant('write' as const), at, bytes: piece }),
    fc.record({ kind: fc.constant('insert' as const), at, bytes: piece }),
    fc.record({ kind: fc.constant('remove' as const), at, length: fc.nat(64) }),
    fc.record({ kind: fc.constant('repeat' as const), at, length: fc.nat(64), times: fc.nat(200) }),
  );
  return fc.array(change, { maxLength: 6 });
}

/** The input with one change. */
export function mutate(input: Buffer, change: Mutation): Buffer {
  const at = change.at % (input.length + 1);
  const [before, after] = [input.subarray(0, at), input.subarray(at)];
  switch (change.kind) {
    case 'flip': {
      const flipped = Buffer.from(input);
      if (at < input.length) flipped[at] = (flipped[at] ?? 0) ^ (1 << change.bit);
      return flipped;
    }
    case 'write':
      return Buffer.concat([before, change.bytes, after.subarray(change.bytes.length)]);
    case 'insert':
      return Buffer.concat([before, change.bytes, after]);
    case 'remove':
      return Buffer.concat([before, after.subarray(change.length)]);
    case 'repeat': {
      const again = Array.from({ length: change.times }, () => after.subarray(0, change.length));
      return Buffer.concat([before, ...again, after]);
    }
  }
}
