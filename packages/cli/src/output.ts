import { styleText } from 'node:util';
import { formatUsd } from '@mayfly/contract/admin';
import type { CliIo } from './cli-io.ts';

const gap = '  ';
/** No column is cut to less than this. */
const leastWidth = 6;

/** Where a result is shown. */
export interface Screen {
  readonly isTerminal: boolean;
  readonly hasColors: boolean;
  /** The width of the terminal in characters. Infinity if it is not known. */
  readonly columns: number;
  readonly nowMs: number;
}

/** Standard output as commands see it. Colours are for terminals, unless NO_COLOR is set. */
export function screenOf({ env, stdout, nowMs = Date.now }: CliIo): Screen {
  const isTerminal = stdout.isTTY === true;
  const hasColors = isTerminal && !env.NO_COLOR && env.TERM !== 'dumb';
  return { isTerminal, hasColors, columns: stdout.columns || Number.POSITIVE_INFINITY, nowMs: nowMs() };
}

export type Color = 'green' | 'yellow' | 'red';

/** A column of a list. */
export interface Column<Row> {
  readonly heading: string;
  readonly value: (row: Row) => string;
  /** What programs read in its place: the whole and exact value. */
  readonly exact?: (row: Row) => string;
  /** Whether it is cut first if the terminal is too narrow. */
  readonly isFlexible?: true;
  readonly color?: (row: Row) => Color | undefined;
}

/** Formats rows for a terminal as a table that fits its width, and otherwise as exact values with a tab between them and no heading. */
export function list<Row>(rows: readonly Row[], columns: readonly Column<Row>[], screen: Screen): string {
  if (!screen.isTerminal) {
    return rows.map((row) => tabbed(columns.map(({ value, exact }) => (exact ?? value)(row)))).join('');
  }
  const cells = rows.map((row) => columns.map(({ value }) => printable(value(row))));
  const natural = columns.map(({ heading }, index) => widest([heading, ...cells.map((line) => line[index] ?? '')]));
  const isFlexible = columns.map((column) => column.isFlexible === true);
  const widths = fitted(natural, isFlexible, screen.columns);
  const fit = (text: string, index: number) => cut(text, widths[index] ?? 0);
  const paint = (text: string, color: Color | undefined) =>
    color && screen.hasColors ? styleText(color, text, { validateStream: false }) : text;
  const heading = joined(columns.map((column, index) => fit(column.heading, index)));
  const lines = rows.map((row, line) =>
    joined(
      columns.map(({ color }, index) => {
        const text = fit(cells[line]?.[index] ?? '', index);
        return paint(text.trimEnd(), color?.(row)) + ' '.repeat(text.length - text.trimEnd().length);
      }),
    ),
  );
  return [heading, ...lines].map((line) => `${line}\n`).join('');
}

/** Formats names and values: as two columns on a terminal, otherwise with a tab between them. */
export function fields(values: Readonly<Record<string, string>>, { isTerminal }: Screen): string {
  return isTerminal ? pairs(values) : Object.entries(values).map(tabbed).join('');
}

/** Narrows columns until they fit: first the flexible ones, then all, always the widest of them. */
function fitted(natural: readonly number[], isFlexible: readonly boolean[], available: number): number[] {
  const widths = [...natural];
  const excess = () => widths.reduce((sum, width) => sum + width + gap.length, -gap.length) - available;
  for (const mayBeCut of [isFlexible, widths.map(() => true)]) {
    while (excess() > 0) {
      const candidates = widths.map((width, index) => (mayBeCut[index] ? width : 0));
      const widest = Math.max(...candidates);
      if (widest <= leastWidth) break;
      widths[candidates.indexOf(widest)] = widest - 1;
    }
  }
  return widths;
}

/** A text in exactly this many columns of a terminal: cut, or with spaces behind it. */
function cut(text: string, width: number): string {
  const natural = widthOf(text);
  if (natural <= width) return text + ' '.repeat(width - natural);
  let shown = '';
  let used = 0;
  for (const { segment } of segmenter.segment(text)) {
    if (used + columnsOf(segment) > width - 1) break;
    shown += segment;
    used += columnsOf(segment);
  }
  return `${shown}…${' '.repeat(width - 1 - used)}`;
}

const segmenter = new Intl.Segmenter();

/** How many columns of a terminal a text takes. */
function widthOf(text: string): number {
  if (/^[\x20-\x7E]*$/.test(text)) return text.length;
  let width = 0;
  for (const { segment } of segmenter.segment(text)) width += columnsOf(segment);
  return width;
}

function widest(texts: readonly string[]): number {
  return texts.reduce((width, text) => Math.max(width, widthOf(text)), 0);
}

/** Emoji and what East Asian Width (UAX #11) calls wide or full-width take two columns. The ranges cover whole blocks. */
const wide =
  /^(?:\p{Emoji_Presentation}|\p{Emoji}\uFE0F|[\u1100-\u115F\u2E80-\u303E\u3041-\u33FF\u3400-\u4DBF\u4E00-\uA4CF\uA960-\uA97C\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF01-\uFF60\uFFE0-\uFFE6\u{17000}-\u{18CFF}\u{1B000}-\u{1B2FF}\u{20000}-\u{3FFFD}])/u;

/** The columns of what a reader sees as one character. */
function columnsOf(segment: string): 1 | 2 {
  return wide.test(segment) ? 2 : 1;
}

function joined(cells: readonly string[]): string {
  return cells.join(gap).trimEnd();
}

function tabbed(cells: readonly string[]): string {
  return `${cells.map(printable).join('\t')}\n`;
}

/** Formats rows as aligned columns below a heading, without trailing spaces. */
export function table(heading: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [heading, ...rows].map((cells) => cells.map(printable));
  const widths = heading.map((_, column) => widest(lines.map((cells) => cells[column] ?? '')));
  const align = (cells: readonly string[]) => joined(cells.map((cell, column) => cut(cell, widths[column] ?? 0)));
  return `${lines.map(align).join('\n')}\n`;
}

/** Formats names and values as two columns. */
export function pairs(values: Readonly<Record<string, string>>): string {
  const [first, ...rest] = Object.entries(values);
  return first === undefined ? '' : table(first, rest);
}

/** What controls a terminal, changes the order of text or cannot be seen, except the joiner inside an emoji. */
const unprintable =
  /(?!(?<=\p{Extended_Pictographic}\uFE0F?\p{Emoji_Modifier}?)\u200D\p{Extended_Pictographic})[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** Replaces control characters and invisible ones, so that text chosen by others cannot control the terminal or look like another text. */
export function printable(text: string): string {
  return text.replace(unprintable, '?');
}

/** Formats an amount of the API, e.g. `25.00 USD`. */
export function showUsd(usd: number): string {
  return `${formatUsd(Math.round(usd * 1_000_000))} USD`;
}

/** Formats JSON as commands print it. Control characters that JSON allows as they are, and terminals obey, are escaped. */
export function showJson(value: unknown): string {
  const text = JSON.stringify(value, null, 2);
  return `${text.replace(/[\u007F-\u009F]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)}\n`;
}
