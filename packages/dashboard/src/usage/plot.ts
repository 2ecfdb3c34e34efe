import type { Column, Part } from './series.ts';

/** Where the bars are drawn, in pixels. */
export interface PlotSize {
  readonly width: number;
  readonly height: number;
}

export interface Bar extends Part {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  /** Whether it is the uppermost of its column. */
  readonly isTop: boolean;
}

const widestBar = 44;
const steps = [1, 2, 2.5, 5, 10] as const;

/** Round values for the lines behind the bars, from zero to at least `max`: about four. */
export function ticksOf(max: number): readonly number[] {
  if (!(max > 0)) return [0, 1];
  const rough = max / 4;
  const magnitude = 10 ** Math.floor(Math.log10(rough));
  const step = magnitude * (steps.find((candidate) => candidate * magnitude >= rough) ?? 10);
  const count = Math.ceil(max / step - 1e-9);
  return Array.from({ length: count + 1 }, (_, index) => Number((index * step).toPrecision(6)));
}

/** The bars of a column, from the bottom to the top. A part that is too small for a pixel still has one. */
export function barsOf(
  { parts }: Column,
  {
    index,
    count,
    max,
    size,
  }: { readonly index: number; readonly count: number; readonly max: number; readonly size: PlotSize },
): readonly Bar[] {
  const slot = size.width / count;
  const width = Math.max(1, Math.min(slot * 0.72, widestBar));
  const x = slot * (index + 0.5) - width / 2;
  let y = size.height;
  return parts.map((part, position) => {
    const height = Math.max(1, (part.value / max) * size.height);
    y -= height;
    return { ...part, x, y, width, height, isTop: position === parts.length - 1 };
  });
}

/** The column below a point, which may be outside of the plot. */
export function columnAt(x: number, count: number, width: number): number {
  if (width <= 0) return 0;
  return Math.min(count - 1, Math.max(0, Math.floor((x / width) * count)));
}

/** The columns that have their date below them, so that none overlap: the last one and others at equal distances. */
export function labelledColumns(count: number, width: number): readonly number[] {
  const roomForLabel = 62;
  const every = Math.max(1, Math.ceil((roomForLabel * count) / Math.max(width, 1)));
  const last = count - 1;
  return Array.from({ length: Math.floor(last / every) + 1 }, (_, index) => last - index * every).reverse();
}

/** The column that a key moves to, or undefined if the key is for something else. */
export function columnForKey(key: string, current: number, count: number): number | undefined {
  const bounded = (index: number) => Math.min(count - 1, Math.max(0, index));
  switch (key) {
    case 'ArrowLeft':
    case 'ArrowDown':
      return bounded(current - 1);
    case 'ArrowRight':
    case 'ArrowUp':
      return bounded(current + 1);
    case 'PageDown':
      return bounded(current - 7);
    case 'PageUp':
      return bounded(current + 7);
    case 'Home':
      return 0;
    case 'End':
      return count - 1;
    default:
      return undefined;
  }
}
