import { describe, expect, test } from 'vitest';
import { AnsiReader, type Piece, styleOf } from './ansi.ts';

const plain = styleOf('stdout');
const text = (shown: string, style = plain): Piece => ({ kind: 'text', text: shown, style });
const read = (output: string) => new AnsiReader('stdout').read(output);

/** The pieces with neighbouring texts of one style put together. */
function joined(pieces: readonly Piece[]): readonly Piece[] {
  const all: Piece[] = [];
  for (const piece of pieces) {
    const last = all.at(-1);
    if (piece.kind === 'text' && last?.kind === 'text' && last.style === piece.style) {
      all[all.length - 1] = text(last.text + piece.text, piece.style);
    } else all.push(piece);
  }
  return all;
}

describe('colours', () => {
  test('are kept until they are reset', () => {
    expect(read('a\u001b[31mb\u001b[1mc\u001b[0md')).toEqual([
      text('a'),
      text('b', styleOf('stdout', 'red')),
      text('c', styleOf('stdout', 'red', true)),
      text('d'),
    ]);
  });

  test.each([
    ['\u001b[1;32mx', styleOf('stdout', 'green', true)],
    ['\u001b[94mx', styleOf('stdout', 'blue')],
    ['\u001b[38;5;9mx', styleOf('stdout', 'red')],
    ['\u001b[38;5;208mx', plain],
    ['\u001b[38;2;255;0;0;33mx', styleOf('stdout', 'amber')],
    ['\u001b[48;5;1mx', plain],
    ['\u001b[33m\u001b[mx', plain],
    ['\u001b[33;39mx', plain],
  ])('%j', (output, style) => {
    expect(read(output)).toEqual([text('x', style)]);
  });
});

test.each([
  ['a title', 'a\u001b]0;title\u0007b'],
  ['a link', 'a\u001b]8;;https://example.com\u001b\\b'],
  ['a cursor movement', 'a\u001b[2;5Hb'],
  ['a private mode', 'a\u001b[?25lb'],
  ['a character set', 'a\u001b(Bb'],
  ['a device control string', 'a\u001bPq#0\u001b\\b'],
  ['a bell and other controls', 'a\u0007\u0000\u009bb'],
  ['a change of the direction of text', 'a\u202eb'],
  ['an escape character alone', 'a\u001b\u0001b'],
])('%s is not shown', (_, output) => {
  expect(joined(read(output))).toEqual([text('ab')]);
});

test('lines end, are started again and are erased', () => {
  expect(read('a\r\nb\r\u001b[Kc').map((piece) => (piece.kind === 'text' ? piece.text : piece.kind))).toEqual([
    'a',
    'return',
    'newline',
    'b',
    'return',
    'erase',
    'c',
  ]);
});

test('the pieces are the same wherever the output is cut', () => {
  const output = 'one\u001b[1;31mtwo\u001b]0;a title\u0007three\r\n\u001b]8;;x\u001b\\four\u001b[0m\u001b(Bfive';
  const whole = joined(read(output));
  for (let cut = 1; cut < output.length; cut += 1) {
    const reader = new AnsiReader('stdout');
    expect(joined([...reader.read(output.slice(0, cut)), ...reader.read(output.slice(cut))])).toEqual(whole);
  }
});

test('a sequence that never ends does not swallow the output', () => {
  const reader = new AnsiReader('stdout');
  const pieces = [...reader.read('\u001b]0;'), ...reader.read('x'.repeat(5_000)), ...reader.read('y')];
  expect(joined(pieces)).toEqual([text(`]0;${'x'.repeat(5_000)}y`)]);
});
