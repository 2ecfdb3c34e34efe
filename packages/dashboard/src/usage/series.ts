import { type UsageDay, type UsageDays, type UsageItem, usageItems } from '@mayfly/contract/dashboard';
import type { Measure } from './period.ts';

const dayMs = 86_400_000;

/** One day of the chart, also if nothing happened on it. */
export interface Column {
  /** `2026-11-19`. */
  readonly date: string;
  readonly total: number;
  /** From the bottom to the top; without those that are zero. */
  readonly parts: readonly Part[];
}

export interface Part {
  readonly item: UsageItem;
  readonly value: number;
}

/** Every day of the period in dollars, or in hours of runtime. */
export function columnsOf({ first_date, last_date, data }: UsageDays, measure: Measure): readonly Column[] {
  const byDate = Map.groupBy(data, ({ date }) => date);
  return datesBetween(first_date, last_date).map((date) => {
    const parts = partsOf(byDate.get(date) ?? [], measure);
    return { date, parts, total: sumOf(parts) };
  });
}

/** What each item comes to over some days, without those that are zero. */
export function partsOf(days: readonly UsageDay[], measure: Measure): readonly Part[] {
  return usageItems.flatMap((item) => {
    const value = days.reduce((sum, day) => sum + (day.item === item ? measured(day, measure) : 0), 0);
    return value > 0 ? [{ item, value }] : [];
  });
}

export function sumOf(parts: readonly Part[]): number {
  return parts.reduce((sum, { value }) => sum + value, 0);
}

function measured({ cost_usd, runtime_seconds }: UsageDay, measure: Measure): number {
  return measure === 'cost' ? cost_usd : runtime_seconds / 3_600;
}

function datesBetween(first: string, last: string): readonly string[] {
  const dates: string[] = [];
  for (let ms = Date.parse(first); ms <= Date.parse(last); ms += dayMs) {
    dates.push(new Date(ms).toISOString().slice(0, 10));
  }
  return dates;
}
