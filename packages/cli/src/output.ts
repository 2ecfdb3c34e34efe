import { formatUsd } from '@mayfly/contract/admin';

const gap = '  ';

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
