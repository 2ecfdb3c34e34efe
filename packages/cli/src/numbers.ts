import { usageFailure } from './cli-io.ts';

const secondMs = 1000;
const minuteMs = 60 * secondMs;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;
const unitMs = { s: secondMs, m: minuteMs, h: hourMs, d: dayMs } as const;

/** Formats a duration in its largest unit, rounded down, e.g. `12m`. A negative one is `0s`. */
export function formatDuration(ms: number): string {
  if (ms >= 2 * dayMs) return `${Math.floor(ms / dayMs)}d`;
  if (ms >= 2 * hourMs) return `${Math.floor(ms / hourMs)}h`;
  if (ms >= 2 * minuteMs) return `${Math.floor(ms / minuteMs)}m`;
  return `${Math.max(Math.floor(ms / secondMs), 0)}s`;
}

/** Reads a duration such as `90s`, `30m`, `1h` or `2d`. Returns milliseconds; throws a Failure that names the option. */
export function parseDuration(option: string, text: string): number {
  const [, count, unit] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  if (count === undefined) throw usageFailure(`${option} must be a duration such as 90s, 30m, 1h or 2d.`);
  return Number(count) * unitMs[unit as keyof typeof unitMs];
}

/** Reads an integer of the command line. Throws a Failure that names the option or argument. */
export function parseInteger(name: string, text: string, min = 1, max = Number.POSITIVE_INFINITY): number {
  const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= min && value <= max) return value;
  const range = max === Number.POSITIVE_INFINITY ? `of at least ${min}` : `from ${min} to ${max}`;
  throw usageFailure(`${name} must be an integer ${range}.`);
}
