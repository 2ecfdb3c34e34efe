import type { ExecutionStatus, SandboxStatus, SizeName, SnapshotStatus } from '@mayfly/contract';
import type { ColumnDataType, Generated } from 'kysely';
import type { DayItem } from '../core/ports/store/ledger-store.ts';

// The tables. Times are unix milliseconds and money is millionths of a dollar, both as 64-bit integers; booleans are 0 or 1.

type Limit = Generated<number | null>;

export interface AccountsTable {
  id: string;
  email: string;
  /** The e-mail in lower case. */
  email_key: string;
  suspended: number;
  /** The sum of the account's ledger entries, written together with each of them. */
  balance_micro_usd: Generated<number>;
  // Limits that an operator set for this account.
  limit_requests_per_minute: Limit;
  limit_creations_per_minute: Limit;
  limit_concurrent_sandboxes: Limit;
  limit_max_timeout_minutes: Limit;
  limit_api_keys: Limit;
  limit_stored_output_mb: Limit;
  limit_snapshots: Limit;
  limit_snapshot_storage_mb: Limit;
  /** The sum of the output_bytes of the account's executions, written together with them. */
  stored_output_bytes: Generated<number>;
  created_at_ms: number;
}

interface ApiKeysTable {
  id: string;
  account_id: string;
  /** SHA-256 of the key, lower-case hex. */
  hash: string;
  prefix: string;
  /** Null for keys from before they had names. */
  name: string | null;
  created_at_ms: number;
  /** Null until it is used. */
  last_used_at_ms: number | null;
  revoked_at_ms: number | null;
}

/** What an account signs in with; no row until it has a password or a secret. */
interface SignInsTable {
  account_id: string;
  password_hash: string | null;
  /** Sealed, see `SecretBox`. Null without two-factor authentication. */
  totp_secret: string | null;
  totp_last_period: number | null;
  /** Sealed; not confirmed yet. */
  totp_pending_secret: string | null;
}

interface RecoveryCodesTable {
  account_id: string;
  hash: string;
}

/** At most one per account. */
interface SignInLinksTable {
  account_id: string;
  /** SHA-256 of the token, lower-case hex. */
  hash: string;
  expires_at_ms: number;
}

export interface SessionsTable {
  id: string;
  /** SHA-256 of the token, lower-case hex. */
  hash: string;
  account_id: string;
  created_at_ms: number;
  last_used_at_ms: number;
  may_set_password_until_ms: number | null;
  source_address: string;
  user_agent: string | null;
}

export interface SandboxesTable {
  id: string;
  account_id: string;
  name: string | null;
  size: SizeName;
  status: SandboxStatus;
  status_reason: string | null;
  timeout_minutes: number;
  idempotency_key: string | null;
  price_micro_usd_per_hour: number;
  /** The machine that serves it, once it is ready. */
  machine_id: string | null;
  // What it was copied from: all null for the template of its size; no snapshot for a fork.
  origin_sandbox_id: string | null;
  origin_snapshot_id: string | null;
  origin_at_ms: number | null;
  created_at_ms: number;
  ready_at_ms: number | null;
  expires_at_ms: number | null;
  /** Null until it ends, and for creates that failed before migration 0009. */
  ended_at_ms: number | null;
  deleted_at_ms: number | null;
}

export interface SnapshotsTable {
  id: string;
  account_id: string;
  /** The sandbox that was saved. */
  sandbox_id: string;
  name: string | null;
  alias: string | null;
  size: SizeName;
  status: SnapshotStatus;
  /** Zero until it is ready. */
  bytes: number;
  idempotency_key: string | null;
  /** Per GiB and 30 days. */
  price_micro_usd_per_gb_month: number;
  /** Its storage is in the ledger until this time. */
  charged_until_ms: number;
  created_at_ms: number;
}

export interface ExecutionsTable {
  id: string;
  account_id: string;
  sandbox_id: string;
  status: ExecutionStatus;
  exit_code: number | null;
  stdout: Uint8Array;
  stderr: Uint8Array;
  /** The length of both streams. */
  output_bytes: number;
  /** The output was dropped to keep the account within its quota. */
  output_dropped: number;
  truncated: number;
  oom_killed: number;
  duration_ms: number | null;
  started_at_ms: number;
  finished_at_ms: number | null;
  /** Its output is read while it runs. */
  live: number;
  /** What it wrote to both streams, captured or not; null until it has a result. */
  written_bytes: number | null;
}

/** Append-only: entries are never changed or removed. */
export interface LedgerEntriesTable {
  id: string;
  account_id: string;
  kind: 'credit' | 'usage' | 'storage';
  /** Positive amounts increase the balance. */
  amount_micro_usd: number;
  /** Of usage: the sandbox that was charged. Unique, so each sandbox is charged at most once. */
  sandbox_id: string | null;
  /** Of usage: when that sandbox was created. Its own record is removed by retention. */
  sandbox_created_at_ms: number | null;
  /** Of storage: the snapshot that was charged. It is charged for one period after the other. */
  snapshot_id: string | null;
  /** Of usage. */
  runtime_ms: number | null;
  note: string;
  created_at_ms: number;
}

/** What accounts were charged by UTC day, written together with the ledger's entries. */
interface LedgerDaysTable {
  account_id: string;
  /** Days since 1970. */
  day: number;
  item: DayItem;
  /** Positive. */
  cost_micro_usd: number;
  runtime_ms: number;
  /** Sandboxes that started on this day. */
  sandboxes: number;
}

export interface PreviewsTable {
  sandbox_id: string;
  port: number;
  token: string;
  created_at_ms: number;
}

/** Append-only until retention removes old rows; only the result of an operator's command is added later. */
export interface AuditEventsTable {
  id: string;
  at_ms: number;
  /** The API key of a call; null for calls with a session and for operators. */
  key_id: string | null;
  /** The session of a call of the dashboard; null for others, and for attempts to sign in that failed. */
  session_id: string | null;
  source_address: string | null;
  /** The name of the operator; null for calls. */
  operator: string | null;
  account_id: string | null;
  action: string;
  target: string | null;
  details: string | null;
  request_id: string | null;
  /** Null until the result is known. */
  status: number | null;
  error_type: string | null;
}

/** The service that the database belongs to. One row. */
interface ServiceOwnerTable {
  one: number;
  data_folder_id: string;
  /** When the service last recorded that it is alive. */
  alive_at_ms: number | null;
}

/** All tables of the database. */
export interface Schema {
  accounts: AccountsTable;
  api_keys: ApiKeysTable;
  sandboxes: SandboxesTable;
  snapshots: SnapshotsTable;
  executions: ExecutionsTable;
  ledger_entries: LedgerEntriesTable;
  ledger_days: LedgerDaysTable;
  previews: PreviewsTable;
  audit_events: AuditEventsTable;
  service_owner: ServiceOwnerTable;
  sign_ins: SignInsTable;
  recovery_codes: RecoveryCodesTable;
  sign_in_links: SignInLinksTable;
  sessions: SessionsTable;
}

/** What differs between engines in a migration. */
export interface MigrationEngine {
  /** The type of a column of raw bytes. */
  readonly bytes: Extract<ColumnDataType, 'blob' | 'bytea'>;
}
