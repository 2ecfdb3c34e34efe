import type { ExecutionStatus, SandboxStatus, SizeName } from '@mayfly/contract';
import type { Generated } from 'kysely';

// The tables as queries see them. Times are unix milliseconds in 64-bit integers, money millionths of a dollar in the
// same, booleans 0 or 1, output bytes.

type Limit = Generated<number | null>;

export interface AccountsTable {
  id: string;
  email: string;
  /** The e-mail in lower case. */
  email_key: string;
  suspended: number;
  /** The sum of the account's ledger entries, written together with each of them. */
  balance_micro_usd: Generated<number>;
  // What an operator set for this account alone.
  limit_requests_per_minute: Limit;
  limit_creations_per_minute: Limit;
  limit_concurrent_sandboxes: Limit;
  limit_max_timeout_minutes: Limit;
  limit_api_keys: Limit;
  created_at_ms: number;
}

export interface ApiKeysTable {
  id: string;
  account_id: string;
  /** SHA-256 of the key, lower-case hex. */
  hash: string;
  prefix: string;
  created_at_ms: number;
  revoked_at_ms: number | null;
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
  created_at_ms: number;
  ready_at_ms: number | null;
  expires_at_ms: number | null;
  deleted_at_ms: number | null;
}

export interface ExecutionsTable {
  id: string;
  account_id: string;
  sandbox_id: string;
  status: ExecutionStatus;
  exit_code: number | null;
  stdout: Uint8Array;
  stderr: Uint8Array;
  truncated: number;
  oom_killed: number;
  duration_ms: number | null;
  started_at_ms: number;
  finished_at_ms: number | null;
}

/** Nothing in it is ever changed or removed. */
export interface LedgerEntriesTable {
  id: string;
  account_id: string;
  kind: 'credit' | 'usage';
  /** Positive adds to the balance. */
  amount_micro_usd: number;
  /** Of usage: the sandbox that was charged for; each at most once, for ever. */
  sandbox_id: string | null;
  /** Of usage. */
  runtime_ms: number | null;
  note: string;
  created_at_ms: number;
}

export interface PreviewsTable {
  sandbox_id: string;
  port: number;
  token: string;
  created_at_ms: number;
}

/** The service that the database belongs to; one row. */
export interface ServiceOwnerTable {
  one: number;
  data_folder_id: string;
  /** When the service last looked after its machines. */
  alive_at_ms: number | null;
}

/** The database of the service. */
export interface Schema {
  accounts: AccountsTable;
  api_keys: ApiKeysTable;
  sandboxes: SandboxesTable;
  executions: ExecutionsTable;
  ledger_entries: LedgerEntriesTable;
  previews: PreviewsTable;
  service_owner: ServiceOwnerTable;
}
