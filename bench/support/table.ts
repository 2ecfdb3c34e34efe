/** One line of the benchmark table. */
export interface Row {
  readonly name: string;
  readonly measuredMs: number;
  readonly baseline: string;
  readonly baselineMs: number;
  /** The ratio should not exceed this; undefined for a row that is for comparison only. */
  readonly target?: number;
}

/** The row's time as a multiple of its baseline. */
export function ratio({ measuredMs, baselineMs }: Row): number {
  return measuredMs / baselineMs;
}

/** Short times get more digits. */
function show(ms: number): string {
  return `${ms.toFixed(ms < 1 ? 3 : 1)} ms`;
}

function cells(row: Row): string[] {
  return [
    row.name,
    show(row.measuredMs),
    row.baseline,
    show(row.baselineMs),
    `${ratio(row).toFixed(2)} ×`,
    row.target === undefined ? '' : `≤ ${row.target} × ${ratio(row) <= row.target ? '✓' : '✗'}`,
  ];
}

/** The rows as aligned text. */
export function formatTable(rows: readonly Row[]): string {
  const lines = [['row', 'median', 'baseline', 'median', 'ratio', 'aim'], ...rows.map(cells)];
  const widths = lines.reduce<number[]>(
    (wide, line) => line.map((cell, at) => Math.max(cell.length, wide[at] ?? 0)),
    [],
  );
  return lines.map((line) => line.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join('  ')).join('\n');
}
