import { printable } from './printable.ts';

const gap = '  ';

/** Rows as aligned columns under a heading, without spaces at the ends of lines. */
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

/** Names and values, one pair to a line. */
export function pairs(values: Readonly<Record<string, string>>): string {
  const [first, ...rest] = Object.entries(values);
  return first === undefined ? '' : table(first, rest);
}
