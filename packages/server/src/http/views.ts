import type { Limits, SizeName } from '@mayfly/contract';
import {
  type Account,
  type ClosedPort,
  type DeletedFile,
  type DeletedSandbox,
  type DeletedSnapshot,
  type Execution,
  type ExecutionList,
  type ForkResult,
  type Port,
  type PortList,
  type Sandbox,
  type SandboxList,
  type Snapshot,
  type SnapshotList,
  type Stats,
  type ExecutionSummary as SummaryView,
  sizes,
  type Usage,
  type WrittenFile,
} from '@mayfly/contract';
import { limitsOf } from '../core/accounts/account-limits.ts';
import type { ForkOutcome } from '../core/copies/fork.ts';
import type { ExecutionListPage } from '../core/executions/execution-records.ts';
import type { DeletedFileRecord, WrittenFileRecord } from '../core/files/sandbox-files.ts';
import { usdOf } from '../core/money/balance.ts';
import type { UsageSummary } from '../core/money/usage.ts';
import type { AccountRecord } from '../core/ports/store/account-store.ts';
import type { ExecutionSummary } from '../core/ports/store/execution-store.ts';
import type { PreviewRecord } from '../core/ports/store/preview-store.ts';
import type { SandboxRecord } from '../core/ports/store/sandbox-store.ts';
import type { SnapshotRecord } from '../core/ports/store/snapshot-store.ts';
import type { SandboxPage } from '../core/sandboxes/read.ts';
import type { SandboxStats } from '../core/sandboxes/stats.ts';
import type { SnapshotListPage } from '../core/snapshots/read.ts';
import { apiErrorOf } from './error-responses.ts';

/** A sandbox as the API shows it. */
export function sandboxView(record: SandboxRecord): Sandbox {
  const { vcpu, memoryGb, diskGb } = sizes[record.size];
  return {
    object: 'sandbox',
    id: record.id,
    name: record.name,
    status: record.status,
    status_reason: record.statusReason,
    size: record.size,
    resources: { vcpu, memory_gb: memoryGb, disk_gb: diskGb },
    snapshot_id: record.origin?.snapshotId ?? null,
    timeout_minutes: record.timeoutMinutes,
    created_at: isoTime(record.createdAtMs),
    ready_at: isoTimeOrNull(record.readyAtMs),
    expires_at: isoTimeOrNull(record.expiresAtMs),
    ended_at: isoTimeOrNull(record.endedAtMs),
    deleted_at: isoTimeOrNull(record.deletedAtMs),
  };
}

/** The response to a delete that is complete. */
export function deletedSandboxView(record: SandboxRecord): DeletedSandbox {
  return { object: 'sandbox', id: record.id, status: 'deleted', deleted_at: isoTime(record.deletedAtMs ?? 0) };
}

export function sandboxListView(page: SandboxPage): SandboxList {
  return {
    object: 'list',
    data: page.sandboxes.map(sandboxView),
    has_more: page.nextCursorMs !== null,
    next_cursor: isoTimeOrNull(page.nextCursorMs),
  };
}

/** One copy of a fork. Errors that are not meant for callers are shown as the API shows them elsewhere. */
export function forkResultView(outcome: ForkOutcome): ForkResult {
  if ('sandbox' in outcome) return { object: 'fork_result', sandbox: sandboxView(outcome.sandbox), error: null };
  const { type, message } = apiErrorOf(outcome.error);
  return { object: 'fork_result', sandbox: null, error: { type, message } };
}

export function executionListView({ executions, nextCursor }: ExecutionListPage): ExecutionList {
  return {
    object: 'list',
    data: executions.map(executionSummaryView),
    has_more: nextCursor !== null,
    next_cursor: nextCursor,
  };
}

/** An execution without its output. */
export function executionSummaryView(record: ExecutionSummary): SummaryView {
  return {
    object: 'execution',
    id: record.id,
    sandbox_id: record.sandboxId,
    status: record.status,
    exit_code: record.exitCode,
    truncated: record.truncated || record.outputDropped,
    output_dropped: record.outputDropped,
    oom_killed: record.oomKilled,
    duration_ms: record.durationMs,
    started_at: isoTime(record.startedAtMs),
    finished_at: isoTimeOrNull(record.finishedAtMs),
  };
}

/** A command that was just started. */
export function runningExecutionView({
  id,
  sandboxId,
  startedAtMs,
}: Pick<ExecutionSummary, 'id' | 'sandboxId' | 'startedAtMs'>): Execution {
  return {
    object: 'execution',
    id,
    sandbox_id: sandboxId,
    status: 'running',
    exit_code: null,
    stdout: '',
    stderr: '',
    truncated: false,
    output_dropped: false,
    oom_killed: false,
    duration_ms: null,
    started_at: isoTime(startedAtMs),
    finished_at: null,
  };
}

/** What a sandbox uses, as the API shows it. */
export function statsView(sandboxId: string, stats: SandboxStats, measuredAtMs: number): Stats {
  const { cpu, memory, disk, network } = stats;
  return {
    object: 'stats',
    sandbox_id: sandboxId,
    measured_at: isoTime(measuredAtMs),
    cpu: { count: cpu.count, used_ms: Math.round((cpu.userUs + cpu.systemUs) / 1_000), percent: stats.cpuPercent },
    memory: usedOf(memory.totalBytes, memory.availableBytes),
    disk: usedOf(disk.totalBytes, disk.freeBytes),
    network: { received_bytes: network.rxBytes, sent_bytes: network.txBytes },
    processes: stats.processes,
    uptime_ms: stats.uptimeMs,
  };
}

function usedOf(totalBytes: number, freeBytes: number): { readonly total_bytes: number; readonly used_bytes: number } {
  return { total_bytes: totalBytes, used_bytes: Math.max(totalBytes - freeBytes, 0) };
}

export function portView(
  { sandboxId, port, token, createdAtMs }: PreviewRecord,
  urlOf: (token: string) => string,
): Port {
  return {
    object: 'port',
    sandbox_id: sandboxId,
    port,
    url: urlOf(token),
    created_at: isoTime(createdAtMs),
  };
}

export function portListView(previews: readonly PreviewRecord[], urlOf: (token: string) => string): PortList {
  return { object: 'list', data: previews.map((preview) => portView(preview, urlOf)) };
}

export function closedPortView(sandboxId: string, port: number): ClosedPort {
  return { object: 'port', sandbox_id: sandboxId, port, deleted: true };
}

export function snapshotView(record: SnapshotRecord): Snapshot {
  return {
    object: 'snapshot',
    id: record.id,
    name: record.name,
    alias: record.alias,
    sandbox_id: record.sandboxId,
    size: record.size,
    status: record.status,
    bytes: record.bytes,
    created_at: isoTime(record.createdAtMs),
  };
}

export function snapshotListView({ snapshots, nextCursorMs }: SnapshotListPage): SnapshotList {
  return {
    object: 'list',
    data: snapshots.map(snapshotView),
    has_more: nextCursorMs !== null,
    next_cursor: isoTimeOrNull(nextCursorMs),
  };
}

export function deletedSnapshotView(id: string): DeletedSnapshot {
  return { object: 'snapshot', id, deleted: true };
}

/** What the view of an account needs besides its record. */
export interface AccountViewNeeds {
  readonly limits: Limits;
  /** In millionths of a dollar per hour. */
  readonly prices: Readonly<Record<SizeName, number>>;
}

export function accountView(
  account: AccountRecord,
  balanceMicroUsd: number,
  { limits, prices }: AccountViewNeeds,
): Account {
  const { concurrentSandboxes, maxTimeoutMinutes } = limitsOf(limits, account);
  const { small, medium, large } = prices;
  return {
    object: 'account',
    id: account.id,
    email: account.email,
    balance_usd: usdOf(balanceMicroUsd),
    limits: { concurrent_sandboxes: concurrentSandboxes, max_timeout_minutes: maxTimeoutMinutes },
    pricing_usd_per_hour: { small: usdOf(small), medium: usdOf(medium), large: usdOf(large) },
  };
}

export function usageView(usage: UsageSummary): Usage {
  return {
    object: 'usage',
    period_days: usage.days,
    balance_usd: usdOf(usage.balanceMicroUsd),
    spent_usd: usdOf(usage.spentMicroUsd),
    snapshot_storage_usd: usdOf(usage.storageMicroUsd),
    added_usd: usdOf(usage.addedMicroUsd),
    sandboxes_created: usage.sandboxesCreated,
    runtime_minutes: usage.runtimeMinutes,
  };
}

export function writtenFileView({ sandboxId, path, sizeBytes }: WrittenFileRecord): WrittenFile {
  return { object: 'file', sandbox_id: sandboxId, path, bytes: sizeBytes };
}

export function deletedFileView({ sandboxId, path }: DeletedFileRecord): DeletedFile {
  return { object: 'file', sandbox_id: sandboxId, path, deleted: true };
}

/** A time in JSON. */
export function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}

export function isoTimeOrNull(ms: number | null): string | null {
  return ms === null ? null : isoTime(ms);
}
