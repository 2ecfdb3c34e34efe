import type { ExecutionStatus, SandboxStatus, SizeName } from '@mayfly/contract';

// The tables as queries see them. Times are unix milliseconds in 64-bit integers, booleans 0 or 1, output bytes.

export interface AccountsTable {
  id: string;
  email: string;
  suspended: number;
  /** What the account started with, in millionths of a dollar. */
  opening_credit_micro_usd: number;
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
  duration_ms: number | null;
  started_at_ms: number;
  finished_at_ms: number | null;
}

/** The database of the service. */
export interface Schema {
  accounts: AccountsTable;
  api_keys: ApiKeysTable;
  sandboxes: SandboxesTable;
  executions: ExecutionsTable;
}
