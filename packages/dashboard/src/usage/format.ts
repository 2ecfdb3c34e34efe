import type { UsageItem } from '@mayfly/contract/dashboard';
import type { Measure } from './period.ts';

export const itemLabels: Readonly<Record<UsageItem, string>> = {
  small: 'Small',
  medium: 'Medium',
  large: 'Large',
  unknown: 'Size unknown',
  storage: 'Snapshots',
};

/** An amount in cents, or with more decimals if it is less than one: "$12.30", "$0.0042", "less than $0.0001". */
export function formatUsd(usd: number): string {
  const sign = usd < 0 ? '−' : '';
  const amount = Math.abs(usd);
  if (amount > 0 && amount < 0.0001) return `less than ${sign}$0.0001`;
  const digits = amount === 0 || amount >= 0.01 ? 2 : 4;
  const fixed = amount.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return `${sign}$${fixed}`;
}

/** A runtime: "45 s", "12 min", "3 h 20 min", "1,204 h". */
export function formatHours(hours: number): string {
  const seconds = Math.round(hours * 3_600);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  const whole = Math.floor(minutes / 60);
  if (whole >= 100 || minutes % 60 === 0) return `${Math.round(minutes / 60).toLocaleString('en-US')} h`;
  return `${whole} h ${minutes % 60} min`;
}

export function formatMeasure(value: number, measure: Measure): string {
  return measure === 'cost' ? formatUsd(value) : formatHours(value);
}

/** The value of a line behind the bars: short, with the same number of decimals for all of them. */
export function formatTick(value: number, ticks: readonly number[], measure: Measure): string {
  const step = (ticks[1] ?? 1) - (ticks[0] ?? 0);
  if (value === 0) return '0';
  if (measure === 'runtime') {
    if (step >= 1) return `${Number(value.toPrecision(6)).toLocaleString('en-US')} h`;
    return step * 60 >= 1 ? `${Math.round(value * 60)} min` : `${Math.round(value * 3_600)} s`;
  }
  const digits = step >= 1 && Number.isInteger(step) ? 0 : Math.max(2, decimalsOf(step));
  return `$${value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits })}`;
}

function decimalsOf(value: number): number {
  return Number(value.toPrecision(6)).toFixed(8).replace(/0+$/, '').split('.')[1]?.length ?? 0;
}

const short = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' });
const long = new Intl.DateTimeFormat('en-GB', { weekday: 'long', day: 'numeric', month: 'long', timeZone: 'UTC' });

/** "19 Nov" */
export function formatDay(date: string): string {
  return short.format(new Date(date));
}

/** "Thursday 19 November" */
export function formatLongDay(date: string): string {
  return long.format(new Date(date)).replace(',', '');
}
