import { formatUsd } from '@mayfly/contract/admin/usd.ts';

/** An amount of the interface, e.g. `25.00 USD`. */
export function showUsd(usd: number): string {
  return `${formatUsd(Math.round(usd * 1_000_000))} USD`;
}
