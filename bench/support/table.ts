import { median } from './measure.ts';

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
  return align([['row', 'median', 'baseline', 'median', 'ratio', 'aim'], ...rows.map(cells)]);
}

/** What each of several files or machines takes of the host. */
export interface Footprint {
  readonly name: string;
  readonly eachMib: readonly number[];
}

/** The footprint of the one in the middle, of the largest one, and of all. */
export function summarize({ eachMib }: Footprint) {
  return {
    medianMib: median(eachMib),
    largestMib: Math.max(...eachMib),
    totalMib: eachMib.reduce((sum, one) => sum + one, 0),
  };
}

/** The footprints as aligned text. */
export function formatFootprints(footprints: readonly Footprint[]): string {
  const lines = footprints.map((footprint) => {
    const { medianMib, largestMib, totalMib } = summarize(footprint);
    const shown = [medianMib, largestMib, totalMib].map((mib) => `${mib.toFixed(1)} MiB`);
    return [footprint.name, String(footprint.eachMib.length), ...shown];
  });
  return align([['footprint', 'count', 'median', 'largest', 'total'], ...lines]);
}

/** Pads the cells, so that every column has one width. */
function align(lines: readonly (readonly string[])[]): string {
  const widths = lines.reduce<number[]>(
    (wide, line) => line.map((cell, at) => Math.max(cell.length, wide[at] ?? 0)),
    [],
  );
  return lines.map((line) => line.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join('  ')).join('\n');
}
