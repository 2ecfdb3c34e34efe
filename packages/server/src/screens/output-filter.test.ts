import headless from '@xterm/headless';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { joinsCell, maxJoinedCharacters, OutputFilter } from './output-filter.ts';
import { nextState, type VtState, vt } from './vt-parser.ts';

/** What the filter assumes of xterm.js, which does not expose it. */
interface Internals {
  readonly _core: {
    readonly _inputHandler: {
      readonly _parser: { readonly currentState: VtState; parse(codes: Uint32Array, length: number): void };
    };
    readonly unicodeService: { wcwidth(codePoint: number): number };
  };
}

const openTerminal = () => new headless.Terminal({ allowProposedApi: true, logLevel: 'off' }) as unknown as Internals;

const filtered = (text: string) => Buffer.from(new OutputFilter().filter(Buffer.from(text))).toString();

describe('what the filter assumes of xterm.js', () => {
  test('the states of its parser', () => {
    const code = fc.oneof(
      fc.constantFrom(
        ...Array.from('\x1b[]P^_X;?<0 $q\\\x07\x18\x7fm\u009b\u009c\u009d\u0090é漢', (one) => one.codePointAt(0) ?? 0),
      ),
      fc.integer({ min: 0, max: 0x110 }),
    );
    fc.assert(
      fc.property(fc.array(code, { maxLength: 40 }), (codes) => {
        const parser = openTerminal()._core._inputHandler._parser;
        let state: VtState = vt.ground;
        for (const one of codes) {
          state = nextState(state, one);
          parser.parse(Uint32Array.of(one), 1);
          expect(parser.currentState).toBe(state);
        }
      }),
      { numRuns: 500 },
    );
  });

  test('the characters that it appends to the cell before', () => {
    const { unicodeService } = openTerminal()._core;
    const unknown: string[] = [];
    for (let codePoint = 0xa0; codePoint <= 0x10ffff; codePoint++) {
      const isCharacter = codePoint < 0xd800 || codePoint > 0xdfff;
      if (isCharacter && unicodeService.wcwidth(codePoint) === 0 && !joinsCell(codePoint))
        unknown.push(codePoint.toString(16));
    }
    expect(unknown).toEqual([]);
  });
});

describe('passes', () => {
  test('text and escape sequences unchanged, however they are cut', () => {
    const text = '\x1b[1;31mred\x1b[m 漢字 é e\u0301 👍\r\n\x1b(0qqq\x1b(B\x1b[?1049h\x1b7\x1b8';
    fc.assert(
      fc.property(fc.nat(Buffer.byteLength(text)), fc.nat(Buffer.byteLength(text)), (one, other) => {
        const filter = new OutputFilter();
        const bytes = Buffer.from(text);
        const [first = 0, second = 0] = [one, other].toSorted((a, b) => a - b);
        const pieces = [bytes.subarray(0, first), bytes.subarray(first, second), bytes.subarray(second)];
        expect(Buffer.concat(pieces.map((piece) => filter.filter(piece))).toString()).toBe(text);
      }),
    );
  });

  test('strings without their content', () => {
    expect(filtered('a\x1b]0;a long title\x07b\x1b]8;;https://example.com\x1b\\c')).toBe('a\x1b]\x07b\x1b]\x1b\\c');
    expect(filtered('a\x1bPq#0;2;0~~~~\x1b\\b\u009dtitle\u009cc')).toBe('a\x1bPq\x1b\\b\u009d\u009cc');
  });

  test('only so many combining characters in a row', () => {
    expect(filtered(`a${'\u0301'.repeat(100)}b\u0301`)).toBe(`a${'\u0301'.repeat(maxJoinedCharacters)}b\u0301`);
  });

  test('no bytes that are not UTF-8', () => {
    const bytes = [0x61, 0xff, 0x80, 0xc3, 0x62, 0xe2, 0x82, 0x63, 0xc0, 0x80, 0xed, 0xa0, 0x80, 0x64];
    expect(Buffer.from(new OutputFilter().filter(Uint8Array.from(bytes))).toString()).toBe('abcd');
  });
});

describe('remembers what the output ended in', () => {
  const unfinished = (bytes: Uint8Array) => {
    const filter = new OutputFilter();
    filter.filter(bytes);
    return Buffer.from(filter.unfinished());
  };

  test('half a character', () => {
    expect(unfinished(Buffer.from('a漢').subarray(0, 3))).toEqual(Buffer.from('漢').subarray(0, 2));
  });

  test('half an escape sequence', () => {
    expect(unfinished(Buffer.from('a\x1b[38;5')).toString()).toBe('\x1b[38;5');
    expect(unfinished(Buffer.from('a\x1b]0;tit')).toString()).toBe('\x1b]');
    expect(unfinished(Buffer.from('a\x1b[m')).toString()).toBe('');
  });

  test('a bounded part of an endless one', () => {
    expect(unfinished(Buffer.from(`\x1b[${'1;'.repeat(10_000)}`)).length).toBeLessThan(1000);
  });
});
