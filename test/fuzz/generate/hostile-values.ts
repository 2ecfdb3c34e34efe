import fc from 'fast-check';

function long(unit: string): fc.Arbitrary<string> {
  return fc.constantFrom(99, 100, 101, 255, 256, 4096, 65_536, 100_000, 100_001).map((count) => unit.repeat(count));
}

/** Strings that often break programs. */
export const hostileString: fc.Arbitrary<string> = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.string({ unit: 'grapheme', maxLength: 40 }),
  fc.constantFrom(
    ...[
      '',
      ' ',
      '\0',
      'a\0b',
      '\uFEFF',
      '\uD800',
      'a\uDFFF',
      '\u202E',
      '\r\n',
      '\r\nX-Injected: 1',
      '%00',
      '%',
      '%n%s',
      '..',
      '..',
    ],
    ...[
      '../../etc/passwd',
      '/',
      '//',
      '/etc/shadow',
      '/dev/zero',
      '/proc/self/mem',
      '/proc/kcore',
      '~',
      '-rf',
      '--help',
      '*',
    ],
    ...[
      '__proto__',
      'constructor',
      'toString',
      'null',
      'undefined',
      'NaN',
      'true',
      '0',
      '-1',
      '1e309',
      '0x10',
      "'; drop table x--",
    ],
    ...['$(id)', '`id`', '$HOME', '<script>', '{{7*7}}', '🦋'.repeat(50), 'e\u0301', 'İ', 'ß', '\u2028'],
  ),
  long('a'),
  long('🦋'),
  long('\\'),
);

/** Numbers at and beyond the limits. */
const hostileNumber: fc.Arbitrary<number> = fc.oneof(
  fc.constantFrom(
    0,
    -0,
    1,
    -1,
    0.5,
    1.0000001,
    999,
    1000,
    1001,
    1439,
    1440,
    1441,
    65_535,
    65_536,
    599_999,
    600_000,
    600_001,
  ),
  fc.constantFrom(2 ** 31, -(2 ** 31), 2 ** 32, 2 ** 53, 2 ** 53 + 2, 1e21, 1e300, 5e-324, Number.MAX_VALUE),
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
);

const deep = fc
  .tuple(fc.constantFrom('array', 'object'), fc.integer({ min: 1, max: 200 }))
  .map(([kind, depth]) =>
    Array.from({ length: depth }).reduce<unknown>((inner) => (kind === 'array' ? [inner] : { a: inner }), null),
  );

/** Any JSON value, most of them invalid for the field. */
export const hostileValue: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 4, arbitrary: hostileString },
  { weight: 4, arbitrary: hostileNumber },
  { weight: 2, arbitrary: fc.constantFrom(null, true, false, [], {}, [[]], [null], { '': '' }) },
  { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 3 }) },
  { weight: 1, arbitrary: deep },
  { weight: 1, arbitrary: fc.dictionary(hostileString, hostileString, { maxKeys: 3 }) },
);
