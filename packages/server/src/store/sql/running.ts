import type { RunningSandbox } from '../../core/ports/store/ledger-store.ts';

interface RunningRow {
  readonly ready_at_ms: number | null;
  readonly expires_at_ms: number | null;
  readonly price_micro_usd_per_hour: number | null;
}

/** What runs up cost among rows of running sandboxes; an outer join's empty row is none. */
export function runningOf(rows: readonly RunningRow[]): readonly RunningSandbox[] {
  return rows.flatMap(({ ready_at_ms: readyAtMs, expires_at_ms: expiresAtMs, price_micro_usd_per_hour: price }) =>
    readyAtMs === null || expiresAtMs === null || price === null
      ? []
      : [{ readyAtMs, expiresAtMs, priceMicroUsdPerHour: price }],
  );
}
