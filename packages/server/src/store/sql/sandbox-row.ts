import type { Selectable } from 'kysely';
import type { SandboxChange, SandboxRecord } from '../../core/ports/store/sandbox-store.ts';
import type { SandboxesTable } from '../schema.ts';

export function sandboxOf(row: Selectable<SandboxesTable>): SandboxRecord {
  return {
    id: row.id,
    accountId: row.account_id,
    name: row.name,
    size: row.size,
    status: row.status,
    statusReason: row.status_reason,
    timeoutMinutes: row.timeout_minutes,
    idempotencyKey: row.idempotency_key,
    priceMicroUsdPerHour: row.price_micro_usd_per_hour,
    machineId: row.machine_id,
    createdAtMs: row.created_at_ms,
    readyAtMs: row.ready_at_ms,
    expiresAtMs: row.expires_at_ms,
    deletedAtMs: row.deleted_at_ms,
  };
}

/** The columns that a change writes. */
export function columnsOf(change: SandboxChange): Partial<SandboxesTable> {
  return {
    status: change.status,
    ...(change.statusReason !== undefined && { status_reason: change.statusReason }),
    ...(change.timeoutMinutes !== undefined && { timeout_minutes: change.timeoutMinutes }),
    ...(change.machineId !== undefined && { machine_id: change.machineId }),
    ...(change.readyAtMs !== undefined && { ready_at_ms: change.readyAtMs }),
    ...(change.expiresAtMs !== undefined && { expires_at_ms: change.expiresAtMs }),
    ...(change.deletedAtMs !== undefined && { deleted_at_ms: change.deletedAtMs }),
    ...(change.idempotencyKey !== undefined && { idempotency_key: change.idempotencyKey }),
  };
}
