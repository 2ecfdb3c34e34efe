import { describe, expect, test } from 'vitest';
import { styleOf } from './ansi.ts';
import { OutputBuffer } from './output-buffer.ts';

const roomy = { characters: 10_000, lines: 1_000, lineCharacters: 100 };

function linesOf(buffer: OutputBuffer): readonly string[] {
  return Array.from({ length: buffer.lineCount }, (_, index) => {
    const line = buffer.line(buffer.firstLine + index);
    return line?.kind === 'text' ? line.text : `gap of ${line?.bytes}`;
  });
}

function bufferOf(chunks: readonly string[], limits = roomy): OutputBuffer {
  const buffer = new OutputBuffer(limits);
  for (const chunk of chunks) buffer.append('stdout', chunk);
  return buffer;
}

test('lines and text are the same in whatever chunks they arrive', () => {
  const output = 'first\nsecond 🐝\r\n\n\u001b[31mthird\u001b[0m\nprogress 1\rprogress 2\nlast';
  const lines = ['first', 'second 🐝', '', 'third', 'progress 2', 'last'];
  for (const size of [1, 2, 3, 7, 100]) {
    const chunks = output.match(new RegExp(`[^]{1,${size}}`, 'gu')) ?? [];
    const buffer = bufferOf(chunks);
    expect(linesOf(buffer)).toEqual(lines);
    expect(buffer.text()).toBe(lines.join('\n'));
  }
});

test('output that ends with a newline has no empty line after it', () => {
  const buffer = bufferOf(['one\n']);
  expect([linesOf(buffer), buffer.text()]).toEqual([['one'], 'one\n']);
});

test('both streams share a line, each with its marks', () => {
  const buffer = bufferOf(['half ']);
  buffer.append('stderr', 'an error');
  buffer.append('stdout', ' a line\n');
  expect(buffer.line(0)).toEqual({
    kind: 'text',
    text: 'half an error a line',
    isContinued: false,
    marks: [
      { from: 0, style: styleOf('stdout') },
      { from: 5, style: styleOf('stderr') },
      { from: 13, style: styleOf('stdout') },
    ],
  });
});

test('an escape sequence of one stream that is cut does not take in the other', () => {
  const buffer = bufferOf(['\u001b[3']);
  buffer.append('stderr', '1m\n');
  buffer.append('stdout', '2mgreen\n');
  expect(linesOf(buffer)).toEqual(['1m', 'green']);
});

test('a long line goes on in the next one, and is whole in the text', () => {
  const buffer = bufferOf(['12345678901234567890123\nx\n'], { ...roomy, lineCharacters: 10 });
  expect(linesOf(buffer)).toEqual(['1234567890', '1234567890', '123', 'x']);
  expect(buffer.text()).toBe('12345678901234567890123\nx\n');
});

test('a long line is not broken within a character', () => {
  const buffer = bufferOf(['123456789🐝🐝'], { ...roomy, lineCharacters: 10 });
  expect(linesOf(buffer)).toEqual(['123456789', '🐝🐝']);
});

describe('the oldest lines are dropped', () => {
  test('beyond the number of characters', () => {
    const buffer = bufferOf(
      Array.from({ length: 100 }, (_, index) => `line ${index}\n`),
      { ...roomy, characters: 80 },
    );
    expect(linesOf(buffer).at(-1)).toBe('line 99');
    expect(buffer.text().length).toBeLessThanOrEqual(88);
    expect(buffer.droppedCharacters + buffer.text().length).toBe(10 * 7 + 90 * 8);
    expect(linesOf(buffer)[0]).toBe(`line ${buffer.firstLine}`);
    expect(buffer.line(buffer.firstLine - 1)).toBeUndefined();
  });

  test('beyond the number of lines, also of empty ones', () => {
    const buffer = bufferOf(['\n'.repeat(5_000)]);
    expect([buffer.lineCount, buffer.firstLine]).toEqual([1_000, 4_000]);
  });

  test('but a line that has not ended is bounded too', () => {
    const buffer = bufferOf(Array.from({ length: 2_000 }, () => 'x'.repeat(50)));
    expect(buffer.text().length).toBeLessThanOrEqual(11_100);
  });
});

test('a gap stands where output is missing, and ends the line before it', () => {
  const buffer = bufferOf(['before \u001b[31']);
  buffer.appendGap(1_234);
  buffer.append('stdout', 'after\n');
  expect(linesOf(buffer)).toEqual(['before ', 'gap of 1234', 'after']);
  expect(buffer.missingBytes).toBe(1_234);
  expect(buffer.text()).toBe('before \n[1234 bytes of output were dropped]\nafter\n');
});

test('a cleared buffer is as new', () => {
  const buffer = bufferOf(['one\ntwo \u001b[31']);
  buffer.clear();
  buffer.append('stdout', 'mthree');
  expect([linesOf(buffer), buffer.text()]).toEqual([['mthree'], 'mthree']);
});

test('of ten megabytes the last four are held', () => {
  const chunk = `${'a line of a build, with a number: 12345\n'.repeat(1_600)}`;
  const buffer = new OutputBuffer();
  for (let index = 0; index < 160; index += 1) buffer.append('stdout', chunk);
  expect(buffer.text().length).toBeLessThanOrEqual(4 * 1024 * 1024 * 1.11);
});
