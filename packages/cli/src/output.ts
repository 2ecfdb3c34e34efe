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
  const natural = columns.map(({ heading }, index) =>
    Math.max(widthOf(heading), ...cells.map((line) => widthOf(line[index] ?? ''))),
  );
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

function cut(text: string, width: number): string {
  const characters = charactersOf(text);
  const shown = characters.length > width ? `${characters.slice(0, width - 1).join('')}…` : text;
  return shown + ' '.repeat(width - widthOf(shown));
}

function widthOf(text: string): number {
  return charactersOf(text).length;
}

const segmenter = new Intl.Segmenter();

/** What a reader sees as one character each. */
function charactersOf(text: string): readonly string[] {
  return Array.from(segmenter.segment(text), ({ segment }) => segment);
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
  const widths = heading.map((_, column) => Math.max(...lines.map((cells) => cells[column]?.length ?? 0)));
  const align = (cells: readonly string[]) =>
    cells
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join(gap)
      .trimEnd();
  return `${lines.map(align).join('\n')}\n`;
}

/** Formats names and values as two columns. */
export function pairs(values: Readonly<Record<string, string>>): string {
  const [first, ...rest] = Object.entries(values);
  return first === undefined ? '' : table(first, rest);
}

/** Replaces control characters, so that text chosen by others cannot control the terminal. */
export function printable(text: string): string {
  return text.replace(/\p{Cc}/gu, '?');
}

/** Formats an amount of the API, e.g. `25.00 USD`. */
export function showUsd(usd: number): string {
  return `${formatUsd(Math.round(usd * 1_000_000))} USD`;
}

/** Formats JSON as commands print it. */
export function showJson(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
