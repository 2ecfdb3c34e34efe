import type { SizeName } from '@mayfly/contract';
import { type Kysely, sql, type Transaction } from 'kysely';
import type { DayItem, LedgerDay, SizedSandbox } from '../../core/ports/store/ledger-store.ts';
import type { Schema } from '../schema.ts';

/** A row of `selectDays`: a running sandbox, a stored snapshot, a day, or none of them. */
interface DaysRow {
  readonly ready_at_ms: number | null;
  readonly expires_at_ms: number | null;
  readonly price_micro_usd_per_hour: number | null;
  readonly bytes: number | null;
  readonly charged_until_ms: number | null;
  readonly price_micro_usd_per_gb_month: number | null;
  readonly day: number | null;
  /** Of a running sandbox its size. */
  readonly item: DayItem | null;
  readonly cost_micro_usd: number | null;
  readonly runtime_ms: number | null;
  readonly sandboxes: number | null;
}

/** One row per running sandbox, stored snapshot with a price and item of a day, or one row without any. Every row has the balance. */
export function selectDays(db: Kysely<Schema>, accountId: string, firstDay: number) {
  const none = sql`cast(null as bigint)`;
  const rows = sql<DaysRow>`(
    select ready_at_ms, expires_at_ms, price_micro_usd_per_hour, ${none} as bytes, ${none} as charged_until_ms,
      ${none} as price_micro_usd_per_gb_month, ${none} as day, size as item, ${none} as cost_micro_usd,
      ${none} as runtime_ms, ${none} as sandboxes
    from sandboxes where account_id = ${accountId} and status = 'running'
    union all
    select ${none}, ${none}, ${none}, bytes, charged_until_ms, price_micro_usd_per_gb_month, ${none}, 'storage', ${none},
      ${none}, ${none}
    from snapshots where account_id = ${accountId} and bytes > 0 and price_micro_usd_per_gb_month > 0
    union all
    select ${none}, ${none}, ${none}, ${none}, ${none}, ${none}, day, item, cost_micro_usd, runtime_ms, sandboxes
    from ledger_days where account_id = ${accountId} and day >= ${firstDay})`;
  return db
    .selectFrom('accounts')
    .leftJoin(rows.as<'part'>(sql.ref('part')), (join) => join.onTrue())
    .select(['accounts.balance_micro_usd', 'part.ready_at_ms', 'part.expires_at_ms', 'part.price_micro_usd_per_hour'])
    .select(['part.bytes', 'part.charged_until_ms', 'part.price_micro_usd_per_gb_month'])
    .select(['part.day', 'part.item', 'part.cost_micro_usd', 'part.runtime_ms', 'part.sandboxes'])
    .where('accounts.id', '=', accountId);
}

/** The running sandboxes and the days in these rows. */
export function readDays(rows: readonly DaysRow[]): {
  readonly running: readonly SizedSandbox[];
  readonly days: readonly LedgerDay[];
} {
  const running: SizedSandbox[] = [];
  const days: LedgerDay[] = [];
  for (const row of rows) {
    const { day, item, cost_micro_usd, runtime_ms, sandboxes } = row;
    const { ready_at_ms: readyAtMs, expires_at_ms: expiresAtMs, price_micro_usd_per_hour: price } = row;
    if (day !== null && item !== null) {
      const amountMicroUsd = cost_micro_usd ?? 0;
      days.push({ day, item, amountMicroUsd, runtimeMs: runtime_ms ?? 0, sandboxes: sandboxes ?? 0 });
    } else if (readyAtMs !== null && expiresAtMs !== null && price !== null) {
      running.push({ size: item as SizeName, readyAtMs, expiresAtMs, priceMicroUsdPerHour: price });
    }
  }
  return { running, days };
}

/** Adds to the days of an account. The caller holds the lock of the account. */
export async function addToDays(
  transaction: Transaction<Schema>,
  accountId: string,
  days: readonly LedgerDay[],
): Promise<void> {
  if (days.length === 0) return;
  const rows = days.map(({ day, item, amountMicroUsd, runtimeMs, sandboxes }) => ({
    account_id: accountId,
    day,
    item,
    cost_micro_usd: amountMicroUsd,
    runtime_ms: runtimeMs,
    sandboxes,
  }));
  await transaction
    .insertInto('ledger_days')
    .values(rows)
    .onConflict((conflict) =>
      conflict.columns(['account_id', 'day', 'item']).doUpdateSet((row) => ({
        cost_micro_usd: row('ledger_days.cost_micro_usd', '+', row.ref('excluded.cost_micro_usd')),
        runtime_ms: row('ledger_days.runtime_ms', '+', row.ref('excluded.runtime_ms')),
        sandboxes: row('ledger_days.sandboxes', '+', row.ref('excluded.sandboxes')),
      })),
    )
    .execute();
}
