export const dayMs = 86_400_000;

/** A cost that arose evenly over a time. Times are unix milliseconds. */
export interface CostSpan {
  readonly fromMs: number;
  readonly untilMs: number;
  readonly amountMicroUsd: number;
}

/** What a span cost on one UTC day. */
export interface CostOfDay {
  /** UTC days since 1970. */
  readonly day: number;
  readonly amountMicroUsd: number;
  readonly durationMs: number;
}

/** No day before these is ever shown, and a clock that was wrong by decades must not make thousands of parts. */
const maxParts = 400;

/** The UTC day of a time, in days since 1970. */
export function dayOf(ms: number): number {
  return Math.floor(ms / dayMs);
}

/** The UTC day as `2026-11-19`. */
export function dateOf(day: number): string {
  return new Date(day * dayMs).toISOString().slice(0, 10);
}

/**
 * Splits a span at midnight UTC. The parts add up to exactly its amount and duration. What is more than 400 days before the end is in the first part. A span
 * without a duration is one part, on the day it begins. Pure.
 */
export function splitByDay({ fromMs, untilMs, amountMicroUsd }: CostSpan): readonly CostOfDay[] {
  const durationMs = Math.max(untilMs - fromMs, 0);
  if (durationMs === 0) return [{ day: dayOf(fromMs), amountMicroUsd, durationMs }];
  const last = dayOf(untilMs - 1);
  const first = Math.max(dayOf(fromMs), last - maxParts + 1);
  const parts: CostOfDay[] = [];
  let spentMicroUsd = 0;
  let passedMs = 0;
  for (let day = first; day <= last; day++) {
    const untilThenMs = Math.min((day + 1) * dayMs, untilMs) - fromMs;
    const costUntilThen = Math.round(amountMicroUsd * (untilThenMs / durationMs));
    parts.push({ day, amountMicroUsd: costUntilThen - spentMicroUsd, durationMs: untilThenMs - passedMs });
    spentMicroUsd = costUntilThen;
    passedMs = untilThenMs;
  }
  return parts;
}
