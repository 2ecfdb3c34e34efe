import { DatabaseSync } from 'node:sqlite';

export type Row = Readonly<Record<string, unknown>>;

/** Read access to the database of a running service. */
export interface AuditedDatabase {
  rows(sql: string): Promise<readonly Row[]>;
}

/** Opens the SQLite file for each query, since the service may be restarted in between. */
export function sqliteFile(path: string): AuditedDatabase {
  return {
    rows: async (sql) => {
      const database = new DatabaseSync(path, { readOnly: true, timeout: 5_000 });
      try {
        return database.prepare(sql).all();
      } finally {
        database.close();
      }
    },
  };
}

export interface SandboxRow {
  readonly id: string;
  readonly name: string;
  readonly status: string;
  readonly statusReason: string | null;
  readonly idempotencyKey: string | null;
  readonly machineId: string | null;
  readonly priceMicroUsdPerHour: number;
  readonly readyAtMs: number | null;
  readonly expiresAtMs: number | null;
  readonly endedAtMs: number | null;
  readonly deletedAtMs: number | null;
}

export interface LedgerRow {
  readonly kind: string;
  readonly amountMicroUsd: number;
  readonly sandboxId: string | null;
  readonly runtimeMs: number;
  readonly atMs: number;
}

function textOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}
function numberOrNull(value: unknown): number | null {
  return value === null || value === undefined ? null : Number(value);
}

export async function readSandboxes(database: AuditedDatabase): Promise<SandboxRow[]> {
  return (await database.rows('select * from sandboxes')).map((row) => ({
    id: String(row.id),
    name: String(row.name),
    status: String(row.status),
    statusReason: textOrNull(row.status_reason),
    idempotencyKey: textOrNull(row.idempotency_key),
    machineId: textOrNull(row.machine_id),
    priceMicroUsdPerHour: Number(row.price_micro_usd_per_hour),
    readyAtMs: numberOrNull(row.ready_at_ms),
    expiresAtMs: numberOrNull(row.expires_at_ms),
    endedAtMs: numberOrNull(row.ended_at_ms),
    deletedAtMs: numberOrNull(row.deleted_at_ms),
  }));
}

export async function readLedger(database: AuditedDatabase): Promise<LedgerRow[]> {
  return (await database.rows('select * from ledger_entries')).map((row) => ({
    kind: String(row.kind),
    amountMicroUsd: Number(row.amount_micro_usd),
    sandboxId: textOrNull(row.sandbox_id),
    runtimeMs: Number(row.runtime_ms),
    atMs: Number(row.created_at_ms),
  }));
}

/** The single number that a query returns. */
export async function readNumber(database: AuditedDatabase, sql: string): Promise<number> {
  const [row] = await database.rows(sql);
  return Number(Object.values(row ?? {})[0]);
}
