/** One line of the benchmark table. */
export interface Row {
  readonly name: string;
  readonly measuredMs: number;
  readonly yardstick: string;
  readonly yardstickMs: number;
  /** What the ratio should not exceed; undefined for a row that is only there to compare. */
  readonly aim?: number;
}

/** How many times the yardstick a row takes. */
export const ratio = ({ measuredMs, yardstickMs }: Row): number => measuredMs / yardstickMs;

/** Short times with more digits. */
const show = (ms: number): string => `${ms.toFixed(ms < 1 ? 3 : 1)} ms`;

const cells = (row: Row): string[] => [
  row.name,
  show(row.measuredMs),
  row.yardstick,
  show(row.yardstickMs),
  `${ratio(row).toFixed(2)} ×`,
  row.aim === undefined ? '' : `≤ ${row.aim} × ${ratio(row) <= row.aim ? '✓' : '✗'}`,
];

/** The rows as aligned text. */
export const formatTable = (rows: readonly Row[]): string => {
  const lines = [['row', 'median', 'yardstick', 'median', 'ratio', 'aim'], ...rows.map(cells)];
  const widths = lines.reduce<number[]>(
    (wide, line) => line.map((cell, at) => Math.max(cell.length, wide[at] ?? 0)),
    [],
  );
  return lines.map((line) => line.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join('  ')).join('\n');
};
