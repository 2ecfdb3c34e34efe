import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decodeBase64InPlace } from './base64.ts';
import { parseJson } from './parse-json.ts';
import { unescapeInPlace } from './unescape.ts';
import { parseWriteFileBody } from './write-file-body.ts';

type Outcome = 'refused' | { readonly body: unknown; readonly content: Buffer | undefined };

const isBase64 = (text: string) => /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(text);

/** What a reader with all its copies makes of a body. */
function simply(json: Buffer): Outcome {
  let body: unknown;
  try {
    body = parseJson(json);
  } catch {
    return 'refused';
  }
  if (typeof body !== 'object' || body === null || !('content' in body) || typeof body.content !== 'string') {
    return { body, content: undefined };
  }
  const { content } = body;
  if (!('encoding' in body) || body.encoding !== 'base64') {
    return { body: { ...body, content: '' }, content: Buffer.from(content) };
  }
  return isBase64(content)
    ? { body: { ...body, content: '' }, content: Buffer.from(content, 'base64') }
    : { body: { ...body, content: '=' }, content: undefined };
}

function inPlace(json: Buffer): Outcome {
  try {
    return parseWriteFileBody(Buffer.from(json));
  } catch (error) {
    expect(error).toMatchObject({ type: 'request_error', status: 400 });
    return 'refused';
  }
}

function expectAlike(json: Buffer): void {
  expect(inPlace(json)).toEqual(simply(json));
}

/** One character of a JSON string as somebody may spell it, rightly or not. */
const spelled = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 3 }).map((text) => JSON.stringify(text).slice(1, -1)),
  fc.integer({ min: 0, max: 0xffff }).map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`),
  fc.integer({ min: 0xd800, max: 0xdfff }).map((unit) => `\\u${unit.toString(16).toUpperCase()}`),
  fc.constantFrom('\\n', '\\"', '\\\\', '\\/', '\\b', '🦋', 'é', 'QUJD', 'QQ==', '=', '-', '{', '}', ':', ','),
  fc.constantFrom('\\', '\\x', '\\u12', '\\u00g0', '\n', '\t', '\x00', '\x7f', '\u2028', '"'),
);
const right = fc.constantFrom('a', 'QUJD', '\\n', '\\"', '\\\\', '\\ud83e\\udd8b', '\\ud83e', '\\u0041', '🦋', '');
const inside = fc.oneof(
  { weight: 2, arbitrary: fc.array(right, { maxLength: 6 }) },
  fc.array(spelled, { maxLength: 6 }),
);
const string = inside.map((pieces) => `"${pieces.join('')}"`);
const key = fc.oneof(
  fc.constantFrom('"content"', '"\\u0063ontent"', '"\\u0063\\u006F\\u006e\\u0074\\u0065\\u006e\\u0074"', '"encoding"'),
  fc.constantFrom('"path"', '"contents"', '"Content"', '"__proto__"', '"con\\tent"'),
  string,
);
const space = fc.constantFrom('', '', '', ' ', '\n\t\r ', '\u00a0');
const { value } = fc.letrec<{ value: string; object: string; array: string }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    { weight: 4, arbitrary: string },
    fc.constantFrom('"base64"', '"utf8"', '1', '-1e3', 'true', 'null', '01', 'nul', ''),
    tie('object'),
    tie('array'),
  ),
  object: fc
    .array(fc.tuple(space, key, space, fc.constantFrom(':', ':', ':', ':', ''), space, tie('value'), space), {
      maxLength: 4,
    })
    .map((fields) => `{${fields.map((parts) => parts.join('')).join(',')}}`),
  array: fc.array(tie('value'), { maxLength: 3 }).map((values) => `[${values.join(',')}]`),
}));
const object = fc
  .array(fc.tuple(space, key, space, fc.constant(':'), space, value, space), { maxLength: 5 })
  .map((fields) => `{${fields.map((parts) => parts.join('')).join(',')}}`);
const text = fc
  .tuple(
    fc.constantFrom('', '', '', '\ufeff', ' '),
    fc.oneof(object, value),
    fc.constantFrom('', '', '', '\n', 'x', '}'),
  )
  .map((parts) => parts.join(''));

describe('a write is read as JSON.parse would read it', { timeout: 60_000 }, () => {
  test('whatever the text', () => {
    fc.assert(
      fc.property(text, (json) => expectAlike(Buffer.from(json))),
      { numRuns: 4_000 },
    );
  });

  test('with bytes changed, left out and cut off', () => {
    const damage = fc.record({ at: fc.nat(400), byte: fc.option(fc.nat(255)), keep: fc.nat(500) });
    fc.assert(
      fc.property(text, damage, (json, { at, byte, keep }) => {
        const bytes = Buffer.from(json);
        const place = at % (bytes.length + 1);
        const middle = byte === null ? Buffer.alloc(0) : Buffer.of(byte);
        expectAlike(Buffer.concat([bytes.subarray(0, place), middle, bytes.subarray(place + 1)]).subarray(0, keep));
      }),
      { numRuns: 4_000 },
    );
  });

  test('whatever the content', () => {
    const content = fc.string({ unit: 'binary', size: 'large' });
    const encoding = fc.constantFrom('utf8', 'base64', undefined);
    fc.assert(
      fc.property(content, encoding, (string, how) =>
        expectAlike(Buffer.from(JSON.stringify({ path: 'a', content: string, encoding: how }))),
      ),
    );
  });

  test.each([
    '{"content":"a","content":"b"}',
    '{"content":"a","content":5}',
    '{"content":5,"content":"a"}',
    '{"a":{"content":"x"},"content":"y","b":["content","z"]}',
    '{"content":"\\ud83e\\udd8b\\udd8b\\ud83e"}',
    '{"content":"\\ud83e\\n"}',
    '["content":"x"]',
    '["content","x"]',
    '"content":"x"',
    '{"content":"x"}}',
    '{"content":"x',
    '{"content":"x\\',
    '{"content":"\\u004"}',
    '{"content":"x" "path":1}',
    '{"content"::"x"}',
    '{"":"x","content":""}',
    '{}{"content":"x"}',
    '',
    ' \u00a0',
    '\ufeff{"content":"\ufeff"}',
    '\ufeff\ufeff{"content":"x"}',
  ])('%s', (json) => expectAlike(Buffer.from(json)));

  test('with more fields than are looked through', () => {
    const fields = '"a":1,'.repeat(20_000);
    expectAlike(Buffer.from(`{${fields}"content":"QUJD","encoding":"base64"}`));
    expectAlike(Buffer.from(`{"content":"QUJ","encoding":"base64",${fields}"b":1}`));
    expectAlike(Buffer.from(`{"content":"x",${fields}"content":"\\ud83e"}`));
  });

  test('with bytes that are no UTF-8, in the content or beside it', () => {
    for (const bad of [[0xff], [0xc3], [0xed, 0xa0, 0x80], [0xc0, 0x80], [0xf5, 0x80, 0x80, 0x80]]) {
      for (const field of ['content', 'other']) {
        expectAlike(Buffer.concat([Buffer.from(`{"${field}":"`), Buffer.from(bad), Buffer.from('"}')]));
      }
    }
  });
});

test('a string is unescaped alike, wherever it is cut into pieces', { timeout: 60_000 }, () => {
  const pieces = fc.array(spelled, { maxLength: 30 }).map((list) => list.join('').replaceAll('"', ''));
  fc.assert(
    fc.property(pieces, fc.integer({ min: 12, max: 20 }), (inner, pieceBytes) => {
      let expected: Buffer | undefined;
      try {
        expected = Buffer.from(JSON.parse(`"${inner}"`));
      } catch {
        expected = undefined;
      }
      expect(unescapeInPlace(Buffer.from(inner), pieceBytes)).toEqual(expected);
    }),
    { numRuns: 4_000 },
  );
});

describe('base64', () => {
  test('is decoded in place, across pieces', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 200_000 }), fc.integer(), (length, seed) => {
        const bytes = Buffer.alloc(length, `${seed}`);
        expect(decodeBase64InPlace(Buffer.from(bytes.toString('base64')))?.equals(bytes)).toBe(true);
      }),
      { numRuns: 30 },
    );
  });

  test('is refused where a single character is not of it', () => {
    const good = Buffer.alloc(65_536 * 2, 'QUJD');
    for (let byte = 0; byte < 256; byte += 1) {
      for (const at of [0, 1, 65_535, 65_536, 131_068, 131_070, 131_071]) {
        const bytes = Buffer.from(good);
        bytes[at] = byte;
        const expected =
          isBase64(bytes.subarray(at & ~3, (at & ~3) + 4).toString('latin1')) && (byte !== 0x3d || at === 131_071);
        expect([byte, at, decodeBase64InPlace(bytes) !== undefined]).toEqual([byte, at, expected]);
      }
    }
  });
});
