import type { RunningSize, UsageDays } from '@mayfly/contract/dashboard';

const hoursPerDay = 24;
const daysPerYear = 365;

/** What running sandboxes and stored snapshots cost per hour. */
export function burnPerHour({
  running,
  storage_usd_per_hour,
}: Pick<UsageDays, 'running' | 'storage_usd_per_hour'>): number {
  return running.reduce((sum, { usd_per_hour }) => sum + usd_per_hour, storage_usd_per_hour);
}

/** How long the balance lasts if everything goes on like this: "3 hours", "12 days", "over a year". Undefined if nothing costs anything. */
export function describeLasting(balanceUsd: number, burnUsdPerHour: number): string | undefined {
  if (balanceUsd <= 0) return 'used up';
  if (burnUsdPerHour <= 0) return undefined;
  const hours = balanceUsd / burnUsdPerHour;
  if (hours < 1) return `${Math.max(1, Math.floor(hours * 60))} min`;
  if (hours < 2 * hoursPerDay) return countOf(Math.floor(hours), 'hour');
  const days = Math.floor(hours / hoursPerDay);
  return days > daysPerYear ? 'over a year' : countOf(days, 'day');
}

/** "2 large, 1 small" */
export function describeRunning(running: readonly RunningSize[]): string {
  return running.map(({ size, sandboxes }) => `${sandboxes} ${size}`).join(', ');
}

function countOf(count: number, unit: string): string {
  return `${count.toLocaleString('en-US')} ${unit}${count === 1 ? '' : 's'}`;
}
