import { longestStepMs, type Point } from './samples.ts';

/** What a chart shows: from `fromMs` to `toMs`, and from 0 to `most`. */
export interface Frame {
  readonly fromMs: number;
  readonly toMs: number;
  readonly most: number;
}

/** The lengths of the coordinates' sides. */
export const width = 1_000;
export const height = 100;

export interface Paths {
  readonly line: string;
  readonly area: string;
}

interface Place {
  readonly x: number;
  readonly y: number;
}

/** Returns the line through the points and the area below it, interrupted where a value is not known or a step is too long. */
export function pathsOf(points: readonly Point[], frame: Frame): Paths {
  const runs = runsOf(points).map((run) => run.map((point) => placeOf(point, frame)));
  return {
    line: runs.map((run) => polyline(run)).join(''),
    area: runs
      .filter((run) => run.length > 1)
      .map((run) => `${polyline(run)}V${height}H${round(run[0]?.x ?? 0)}Z`)
      .join(''),
  };
}

/** A single point between gaps is drawn as a short dash. */
function polyline(run: readonly Place[]): string {
  const text = run.map(({ x, y }, index) => `${index === 0 ? 'M' : 'L'}${round(x)} ${round(y)}`).join('');
  return run.length === 1 ? `${text}h2` : text;
}

type KnownPoint = Point & { readonly value: number };

function runsOf(points: readonly Point[]): readonly (readonly KnownPoint[])[] {
  const runs: KnownPoint[][] = [];
  let beforeMs = Number.NEGATIVE_INFINITY;
  let isOpen = false;
  for (const { atMs, value } of points) {
    if (value === null) {
      isOpen = false;
      continue;
    }
    if (!isOpen || atMs - beforeMs > longestStepMs) runs.push([]);
    runs.at(-1)?.push({ atMs, value });
    beforeMs = atMs;
    isOpen = true;
  }
  return runs;
}

function placeOf({ atMs, value }: KnownPoint, { fromMs, toMs, most }: Frame): Place {
  return { x: ((atMs - fromMs) / (toMs - fromMs)) * width, y: height - (Math.min(value, most) / most) * height };
}

function round(coordinate: number): number {
  return Math.round(coordinate * 10) / 10;
}

const steps = [1, 2, 5, 10, 20, 50, 100, 200, 500] as const;

/** Returns the end of an axis for rates: the next round number of B/s, KiB/s, …, and at least 1 KiB/s so that a few bytes do not look like a flood. */
export function axisEnd(mostBytes: number): number {
  for (let unit = 1024; ; unit *= 1024) {
    const step = steps.find((count) => count * unit >= mostBytes);
    if (step !== undefined) return step * unit;
  }
}

/** Returns the point that is nearest to a time; undefined if there is none. */
export function nearest<P extends Point>(points: readonly P[], atMs: number): P | undefined {
  return points.reduce<P | undefined>(
    (best, point) => (best && Math.abs(best.atMs - atMs) <= Math.abs(point.atMs - atMs) ? best : point),
    undefined,
  );
}
