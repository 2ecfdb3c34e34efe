// The bodies that tests look into; the shapes of all of them are checked on every answer.

export interface SandboxBody {
  readonly id: string;
  readonly name: string | null;
  readonly status: string;
  readonly status_reason?: string | null;
  readonly size: string;
  readonly resources: { readonly vcpu: number; readonly memory_gb: number; readonly disk_gb: number };
  readonly timeout_minutes: number;
  readonly created_at: string;
  readonly ready_at: string | null;
  readonly expires_at: string | null;
  readonly deleted_at: string | null;
}

export interface SandboxListBody {
  readonly data: readonly SandboxBody[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

export interface ExecutionBody {
  readonly id: string;
  readonly sandbox_id: string;
  readonly status: string;
  readonly exit_code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly truncated: boolean;
  readonly duration_ms: number | null;
  readonly started_at: string | null;
  readonly finished_at: string | null;
}

export interface PortBody {
  readonly port: number;
  readonly url: string;
  readonly created_at: string;
}

export interface FileBody {
  readonly path: string;
  readonly bytes: number;
  readonly encoding: string;
  readonly content: string;
}

export interface DirectoryBody {
  readonly path: string;
  readonly entries: readonly { readonly name: string; readonly type: string; readonly size_bytes: number | null }[];
}

export interface UsageBody {
  readonly period_days: number;
  readonly balance_usd: number;
  readonly spent_usd: number;
  readonly added_usd: number;
  readonly sandboxes_created: number;
  readonly runtime_minutes: number;
}

export interface AccountBody {
  readonly id: string;
  readonly email: string;
  readonly balance_usd: number;
  readonly limits: { readonly concurrent_sandboxes: number; readonly max_timeout_minutes: number };
  readonly pricing_usd_per_hour: Readonly<Record<string, number>>;
}
