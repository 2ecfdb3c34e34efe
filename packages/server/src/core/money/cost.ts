const hourMs = 3_600_000;

/** What a run of so many milliseconds costs, in millionths of a dollar. */
export function costMicroUsd(runtimeMs: number, priceMicroUsdPerHour: number): number {
  return Math.round((Math.max(runtimeMs, 0) * priceMicroUsdPerHour) / hourMs);
}

/** An amount as the interface shows it. */
export function usdOf(microUsd: number): number {
  return microUsd / 1_000_000;
}
