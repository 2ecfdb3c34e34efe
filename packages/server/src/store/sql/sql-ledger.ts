import { type Kysely, type Selectable, sql, type Transaction } from 'kysely';
import { splitByDay } from '../../core/money/days.ts';
import { daysOfRun, daysOfStorage } from '../../core/money/usage-days.ts';
import type {
  AccountFunds,
  LedgerDay,
  LedgerDays,
  LedgerStore,
  LedgerSummary,
  NewCredit,
  RunningSandbox,
  StoredBytes,
} from '../../core/ports/store/ledger-store.ts';
import type { AdmissionFacts, Charge, SandboxRecord } from '../../core/ports/store/sandbox-store.ts';
import type { LedgerEntriesTable, Schema, SnapshotsTable } from '../schema.ts';
import type { Database } from './database.ts';
import { addToDays, readDays, selectDays } from './sql-ledger-days.ts';

/** The ledger in SQL. Values that must be consistent are read by one statement. */
export class SqlLedger implements LedgerStore {
  readonly #database: Database;
  readonly #funds;
  readonly #summary;
  readonly #days;

  constructor(database: Database) {
    this.#database = database;
    this.#funds = database.prepare('ledger.funds', selectFunds);
    this.#summary = database.prepare('ledger.summary', selectSummary);
    this.#days = database.prepare('ledger.days', selectDays);
  }

  addCredit(credit: NewCredit): Promise<void> {
    return this.#database.transact('ledger.addCredit', (transaction) => writeCredit(transaction, credit));
  }

  async funds(accountId: string): Promise<AccountFunds> {
    const rows = await this.#funds(accountId);
    const { balance_micro_usd: settledMicroUsd } = required(rows[0], accountId);
    return { settledMicroUsd, running: runningOf(rows), stored: storedIn(rows) };
  }

  async summary(accountId: string, sinceMs: number): Promise<LedgerSummary> {
    const rows = await this.#summary(accountId, sinceMs);
    const first = required(rows[0], accountId);
    return {
      settledMicroUsd: first.balance_micro_usd,
      running: runningOf(rows),
      stored: storedIn(rows),
      spentMicroUsd: 0 - first.usage_micro_usd - first.storage_micro_usd,
      storageMicroUsd: 0 - first.storage_micro_usd,
      addedMicroUsd: first.credit_micro_usd,
      runtimeMs: first.runtime_ms,
      sandboxesCreated: first.sandboxes_created,
    };
  }

  async days(accountId: string, firstDay: number): Promise<LedgerDays> {
    const rows = await this.#days(accountId, firstDay);
    const { balance_micro_usd: settledMicroUsd } = required(rows[0], accountId);
    return { settledMicroUsd, stored: storedIn(rows), ...readDays(rows) };
  }
}

/** Adds credit to an account's ledger. */
export function writeCredit(transaction: Transaction<Schema>, credit: NewCredit): Promise<void> {
  return writeEntry(transaction, {
    id: credit.id,
    account_id: credit.accountId,
    kind: 'credit',
    amount_micro_usd: credit.amountMicroUsd,
    sandbox_id: null,
    sandbox_created_at_ms: null,
    snapshot_id: null,
    runtime_ms: null,
    note: credit.note,
    created_at_ms: credit.createdAtMs,
  });
}

/** Charges an account for a sandbox, unless that sandbox was charged before. */
export function writeCharge(
  transaction: Transaction<Schema>,
  sandbox: Pick<SandboxRecord, 'id' | 'accountId' | 'size' | 'createdAtMs' | 'readyAtMs'>,
  charge: Charge,
): Promise<void> {
  const { amountMicroUsd, runtimeMs, atMs } = charge;
  const fromMs = sandbox.readyAtMs ?? atMs - runtimeMs;
  const parts = splitByDay({ fromMs, untilMs: fromMs + runtimeMs, amountMicroUsd });
  const entry: LedgerEntriesTable = {
    id: `usage:${sandbox.id}`,
    account_id: sandbox.accountId,
    kind: 'usage',
    amount_micro_usd: -amountMicroUsd,
    sandbox_id: sandbox.id,
    sandbox_created_at_ms: sandbox.createdAtMs,
    snapshot_id: null,
    runtime_ms: runtimeMs,
    note: '',
    created_at_ms: atMs,
  };
  return writeEntry(transaction, entry, daysOfRun(sandbox.size, parts));
}

/** Charges an account for storing a snapshot since it was last charged. */
export function writeStorageCharge(
  transaction: Transaction<Schema>,
  { id, account_id, charged_until_ms }: Selectable<SnapshotsTable>,
  amountMicroUsd: number,
  nowMs: number,
): Promise<void> {
  const parts = splitByDay({ fromMs: charged_until_ms, untilMs: nowMs, amountMicroUsd });
  const entry: LedgerEntriesTable = {
    id: `storage:${id}:${charged_until_ms}`,
    account_id,
    kind: 'storage',
    amount_micro_usd: -amountMicroUsd,
    sandbox_id: null,
    sandbox_created_at_ms: null,
    snapshot_id: id,
    runtime_ms: null,
    note: '',
    created_at_ms: nowMs,
  };
  return writeEntry(transaction, entry, daysOfStorage(parts));
}

/** Locks the account against other transactions that write it, until this one ends; returns its settled balance and whether it is suspended. */
export async function lockAccount(
  transaction: Transaction<Schema>,
  id: string,
): Promise<Pick<AdmissionFacts, 'settledMicroUsd' | 'suspended'>> {
  // Writing the row unchanged locks it in every engine.
  const query = transaction.updateTable('accounts').set((row) => ({ balance_micro_usd: row.ref('balance_micro_usd') }));
  const row = await query.where('id', '=', id).returning(['balance_micro_usd', 'suspended']).executeTakeFirstOrThrow();
  return { settledMicroUsd: row.balance_micro_usd, suspended: row.suspended === 1 };
}

interface RunningRow {
  readonly ready_at_ms: number | null;
  readonly expires_at_ms: number | null;
  readonly price_micro_usd_per_hour: number | null;
}

/** The running sandboxes in these rows. The empty row of an outer join is none. */
export function runningOf(rows: readonly RunningRow[]): readonly RunningSandbox[] {
  return rows.flatMap(({ ready_at_ms: readyAtMs, expires_at_ms: expiresAtMs, price_micro_usd_per_hour: price }) =>
    readyAtMs === null || expiresAtMs === null || price === null
      ? []
      : [{ readyAtMs, expiresAtMs, priceMicroUsdPerHour: price }],
  );
}

interface StoredRow {
  readonly bytes: number | null;
  readonly charged_until_ms: number | null;
  readonly price_micro_usd_per_gb_month: number | null;
}

/** The stored snapshots in these rows. */
function storedIn(rows: readonly StoredRow[]): readonly StoredBytes[] {
  return rows.flatMap(({ bytes, charged_until_ms: chargedUntilMs, price_micro_usd_per_gb_month: price }) =>
    bytes === null || chargedUntilMs === null || price === null
      ? []
      : [{ bytes, chargedUntilMs, priceMicroUsdPerGbMonth: price }],
  );
}

/** The account's stored snapshots that have a price. */
export async function storedOf(transaction: Transaction<Schema>, accountId: string): Promise<readonly StoredBytes[]> {
  return storedIn(await selectStored(transaction, accountId).execute());
}

function selectStored(db: Kysely<Schema>, accountId: string) {
  return db
    .selectFrom('snapshots')
    .select(['bytes', 'charged_until_ms', 'price_micro_usd_per_gb_month'])
    .where('account_id', '=', accountId)
    .where('bytes', '>', 0)
    .where('price_micro_usd_per_gb_month', '>', 0);
}

/** The only writer of balances: adds an entry, its amount and what it adds to the account's days together, unless the entry already exists. */
async function writeEntry(
  transaction: Transaction<Schema>,
  entry: LedgerEntriesTable,
  days: readonly LedgerDay[] = [],
): Promise<void> {
  const inserted = await transaction
    .insertInto('ledger_entries')
    .values(entry)
    .onConflict((conflict) => conflict.doNothing())
    .returning('id')
    .executeTakeFirst();
  if (inserted === undefined) return;
  await transaction
    .updateTable('accounts')
    .set((row) => ({ balance_micro_usd: row('balance_micro_usd', '+', entry.amount_micro_usd) }))
    .where('id', '=', entry.account_id)
    .execute();
  // The account is locked by its update, so that entries that are written at once add to the days one after the other.
  await addToDays(transaction, entry.account_id, days);
}

const none = sql<number | null>`cast(null as bigint)`;

/** One row per running sandbox and per stored snapshot with a price, or one row without either. Every row has the balance. */
function selectFunds(db: Kysely<Schema>, accountId: string) {
  const running = db
    .selectFrom('sandboxes')
    .select([
      'ready_at_ms',
      'expires_at_ms',
      (row) => row.ref('price_micro_usd_per_hour').$castTo<number | null>().as('price_micro_usd_per_hour'),
    ])
    .select([none.as('bytes'), none.as('charged_until_ms'), none.as('price_micro_usd_per_gb_month')])
    .where('account_id', '=', accountId)
    .where('status', '=', 'running');
  const stored = db
    .selectFrom(selectStored(db, accountId).as('stored'))
    .select([none.as('ready_at_ms'), none.as('expires_at_ms'), none.as('price_micro_usd_per_hour')])
    .select((row) => [
      row.ref('bytes').$castTo<number | null>().as('bytes'),
      row.ref('charged_until_ms').$castTo<number | null>().as('charged_until_ms'),
      row.ref('price_micro_usd_per_gb_month').$castTo<number | null>().as('price_micro_usd_per_gb_month'),
    ]);
  return db
    .selectFrom('accounts')
    .leftJoin(running.unionAll(stored).as('accruing'), (join) => join.onTrue())
    .select(['accounts.balance_micro_usd', 'accruing.ready_at_ms', 'accruing.expires_at_ms'])
    .select(['accruing.price_micro_usd_per_hour', 'accruing.bytes', 'accruing.charged_until_ms'])
    .select('accruing.price_micro_usd_per_gb_month')
    .where('accounts.id', '=', accountId);
}

function selectSummary(db: Kysely<Schema>, accountId: string, sinceMs: number) {
  const entries = db
    .selectFrom('ledger_entries')
    .where('account_id', '=', accountId)
    .where('created_at_ms', '>=', sinceMs)
    .select([
      sumWhere('usage', 'amount_micro_usd').as('usage_micro_usd'),
      sumWhere('storage', 'amount_micro_usd').as('storage_micro_usd'),
      sumWhere('credit', 'amount_micro_usd').as('credit_micro_usd'),
      sumWhere('usage', 'runtime_ms').as('runtime_ms'),
    ]);
  // Every sandbox that got ready is either running or charged, and only the ledger outlives retention. A create that failed is neither.
  const running = db
    .selectFrom('sandboxes')
    .where('account_id', '=', accountId)
    .where('status', '=', 'running')
    .where('created_at_ms', '>=', sinceMs)
    .select('id');
  const charged = db
    .selectFrom('ledger_entries')
    .where('account_id', '=', accountId)
    .where('sandbox_created_at_ms', '>=', sinceMs)
    .select('id');
  const created = db
    .selectFrom(running.unionAll(charged).as('ready'))
    .select(sql<number>`cast(count(*) as bigint)`.as('sandboxes_created'));
  return selectFunds(db, accountId)
    .innerJoin(entries.as('entries'), (join) => join.onTrue())
    .innerJoin(created.as('created'), (join) => join.onTrue())
    .select(['usage_micro_usd', 'storage_micro_usd', 'credit_micro_usd', 'entries.runtime_ms', 'sandboxes_created']);
}

/** A sum as a 64-bit integer; zero if there are no rows. */
function sumWhere(kind: LedgerEntriesTable['kind'], column: 'amount_micro_usd' | 'runtime_ms') {
  return sql<number>`cast(coalesce(sum(case when kind = ${sql.lit(kind)} then ${sql.ref(column)} end), 0) as bigint)`;
}

function required<Row>(row: Row | undefined, accountId: string): Row {
  if (row === undefined) throw new Error(`no account ${accountId}`);
  return row;
}
