import { describe, expect, test } from 'vitest';
import { type Column, list, printable, type Screen, showJson, table } from './output.ts';

const screen: Screen = { isTerminal: true, hasColors: false, columns: Number.POSITIVE_INFINITY, nowMs: 0 };
const columns: readonly Column<string>[] = [
  { heading: 'NAME', value: (name) => name, isFlexible: true },
  { heading: 'END', value: () => '|' },
];

describe('tables', () => {
  test('characters that take two columns are counted so', () => {
    const names = ['日本語', '한국', '👩‍💻', '❤️', 'é', 'e\u0301'];
    const lines = list(names, columns, screen).split('\n');
    expect(lines).toEqual([
      'NAME    END',
      '日本語  |',
      '한국    |',
      '👩‍💻      |',
      '❤️      |',
      'é       |',
      'e\u0301       |',
      '',
    ]);
    expect(table(['A', 'B'], [['日本', 'x']])).toBe('A     B\n日本  x\n');
  });

  test('a text that is cut fits, also if its last character is wide', () => {
    const narrow = { ...screen, columns: 6 + 2 + 3 };
    expect(list(['日本語日本語', 'abcdefgh'], columns, narrow)).toBe('NAME    END\n日本…   |\nabcde…  |\n');
  });

  test('has any number of rows', () => {
    const rows = Array.from({ length: 200_000 }, () => 'x');
    expect(list(rows, columns, screen).length).toBeGreaterThan(rows.length);
    expect(
      table(
        ['A'],
        rows.map((row) => [row]),
      ).length,
    ).toBeGreaterThan(rows.length);
  });
});

describe('text chosen by others', () => {
  test.each([
    ['\x1b[2J', '?[2J'],
    ['\u009b2J', '?2J'],
    ['\u202egnp.exe', '?gnp.exe'],
    ['a\u200bb\u2060c\u2028d', 'a?b?c?d'],
    ['a\u200db', 'a?b'],
    ['👩‍💻 👩🏽‍💻 ❤️‍🔥', '👩‍💻 👩🏽‍💻 ❤️‍🔥'],
  ])('%j is shown as %j', (text, shown) => {
    expect(printable(text)).toBe(shown);
  });

  test('cannot control the terminal in JSON', () => {
    const value = { name: '\x1b[2J\u007f\u009b2J日' };
    const shown = showJson(value);
    expect(shown).not.toMatch(/[\p{Cc}--\n]/v);
    expect(shown).toContain('\\u009b2J日');
    expect(JSON.parse(shown)).toEqual(value);
  });
});
