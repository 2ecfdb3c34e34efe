import type { Account, Sandbox } from '@mayfly/contract';

/** How much of its lifetime a sandbox has left. */
export interface TimeLeft {
  readonly leftMs: number;
  /** From 1 (just created) to 0 (expired). */
  readonly fraction: number;
}

/** Returns the time left; undefined for a sandbox that is not running. */
export function timeLeft(
  { status, ready_at, expires_at }: Pick<Sandbox, 'status' | 'ready_at' | 'expires_at'>,
  nowMs: number,
): TimeLeft | undefined {
  if (status !== 'running' || ready_at === null || expires_at === null) return undefined;
  const endMs = Date.parse(expires_at);
  const leftMs = Math.max(0, endMs - nowMs);
  const wholeMs = endMs - Date.parse(ready_at);
  return { leftMs, fraction: wholeMs > 0 ? Math.min(1, leftMs / wholeMs) : 0 };
}

/** How long a sandbox has been running, or ran; 0 if it never did. */
export function ranMs({ ready_at, ended_at }: Pick<Sandbox, 'ready_at' | 'ended_at'>, nowMs: number): number {
  if (ready_at === null) return 0;
  return Math.max(0, (ended_at === null ? nowMs : Date.parse(ended_at)) - Date.parse(ready_at));
}

/** Returns what a sandbox has cost at the prices of now, in USD. Where an operator changed them meanwhile, the ledger has the right sum. */
export function costUsd(
  sandbox: Pick<Sandbox, 'size' | 'ready_at' | 'ended_at'>,
  prices: Account['pricing_usd_per_hour'],
  nowMs: number,
): number {
  return (ranMs(sandbox, nowMs) * prices[sandbox.size]) / 3_600_000;
}

/** What a sandbox has cost, below a dollar with the digits that one of minutes needs: "$0.0042", "$1.20". */
export function formatCostSoFar(usd: number): string {
  return `$${usd.toFixed(usd > 0 && usd < 1 ? 4 : 2)}`;
}
