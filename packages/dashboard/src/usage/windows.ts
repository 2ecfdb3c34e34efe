import type { RateWindow } from '@mayfly/contract/dashboard';

/** A rate window some time after it was read: as it was until it resets, then unused as far as is known. */
export interface WindowNow {
  readonly used: number;
  readonly limit: number;
  /** Undefined once it has been reset. */
  readonly resetsInSeconds: number | undefined;
}

export function windowAfter({ limit, remaining, resets_in_seconds }: RateWindow, elapsedMs: number): WindowNow {
  const leftSeconds = Math.ceil(resets_in_seconds - elapsedMs / 1_000);
  const hasReset = leftSeconds <= 0;
  const used = hasReset ? 0 : limit - remaining;
  return { used, limit, resetsInSeconds: hasReset ? undefined : Math.min(leftSeconds, resets_in_seconds) };
}

/** How full something is. */
export type Fullness = 'free' | 'near' | 'full';

const nearFraction = 0.8;

export function fullnessOf(used: number, limit: number): Fullness {
  if (used >= limit) return 'full';
  return used >= limit * nearFraction ? 'near' : 'free';
}
