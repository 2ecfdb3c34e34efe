import fc from 'fast-check';
import { hostileString, hostileValue } from './hostile-values.ts';

/** Fields that are never removed: without a timeout, a random command could run for a minute. */
const keptFields = new Set(['timeout_ms']);

/** Mutates a valid body: another type, a value out of bounds, a field less, a field more. */
export function mutateObject(body: Record<string, unknown>): fc.Arbitrary<unknown> {
  const names = Object.keys(body);
  const name = names.length === 0 ? hostileString : fc.constantFrom(...names);
  return fc.oneof(
    { weight: 6, arbitrary: fc.tuple(name, hostileValue).map(([at, value]) => ({ ...body, [at]: value })) },
    {
      weight: 2,
      arbitrary: name.map((at) =>
        Object.fromEntries(Object.entries(body).filter(([one]) => one !== at || keptFields.has(one))),
      ),
    },
    { weight: 2, arbitrary: fc.tuple(hostileString, hostileValue).map(([at, value]) => ({ ...body, [at]: value })) },
    { weight: 1, arbitrary: fc.constantFrom<unknown>([body], [], null, JSON.stringify(body), true, 5) },
    { weight: 1, arbitrary: hostileValue },
  );
}

const oversized: readonly Uint8Array[] = [
  Buffer.from('['.repeat(50_000) + ']'.repeat(50_000)),
  Buffer.from('{"a":'.repeat(20_000)),
  Buffer.alloc(1_048_577, ' '),
  Buffer.alloc(0),
];

function insertAt(text: string, at: number, inserted: string): string {
  const place = at % (text.length + 1);
  return text.slice(0, place) + inserted + text.slice(place);
}

/** Mutates the text of a body: truncated, duplicated, other encodings, invalid UTF-8. */
export function mutateText(json: string): fc.Arbitrary<Uint8Array> {
  return fc.oneof(
    fc.nat().map((at) => Buffer.from(json.slice(0, at % (json.length + 1)))),
    fc.tuple(fc.nat(), hostileString).map(([at, text]) => Buffer.from(insertAt(json, at, text.slice(0, 20)))),
    fc.constantFrom<Uint8Array>(
      Buffer.from(`\uFEFF${json}`),
      Buffer.from(json, 'utf16le'),
      Buffer.from(json + json),
      Buffer.from(`${json} trailing`),
      Buffer.from(` \n\t${json}\r\n`),
      Buffer.concat([Buffer.from(json), Buffer.from([0])]),
      Buffer.from(json.replace('{', '{"__proto__":{"x":1},"constructor":{"prototype":1},')),
      Buffer.from(json.replace(/"(\w+)":/, '"$1":null,"$1":')),
      Buffer.from(json.replace(/:([^,}]+)/, ':1e999')),
      Buffer.from(json.replace(/:([^,}]+)/, ':-0.0000000000000000000000000001')),
      Buffer.from(json.replace(/:([^,}]+)/, ':"\\ud800"')),
      ...oversized,
    ),
    fc
      .tuple(fc.nat(), fc.constantFrom([0xff], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xf5, 0x80, 0x80, 0x80], [0x80]))
      .map(([at, bytes]) => {
        const whole = Buffer.from(json);
        const place = at % (whole.length + 1);
        return Buffer.concat([whole.subarray(0, place), Buffer.from(bytes), whole.subarray(place)]);
      }),
  );
}
