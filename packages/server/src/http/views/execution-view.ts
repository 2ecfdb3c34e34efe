import type { Execution, ExecutionList, ExecutionSummary as SummaryView } from '@mayfly/contract';
import { decodeOutput } from '../../core/executions/decode-output.ts';
import type { ExecutionListPage } from '../../core/executions/list.ts';
import type { ExecutionRecord, ExecutionSummary } from '../../core/ports/store/execution-store.ts';
import { isoOf, isoOrNull } from './iso-time.ts';

/** An execution as the interface shows it, output as text; `captureBytes` is what is kept of each stream. */
export function executionView(record: ExecutionRecord, captureBytes: number): Execution {
  const text = (bytes: Uint8Array) => decodeOutput(bytes, record.truncated && bytes.length >= captureBytes);
  return { ...summaryView(record), stdout: text(record.stdout), stderr: text(record.stderr) };
}

/** One page of executions. */
export function executionListView({ executions, nextCursor }: ExecutionListPage): ExecutionList {
  return {
    object: 'list',
    data: executions.map(summaryView),
    has_more: nextCursor !== null,
    next_cursor: nextCursor,
  };
}

function summaryView(record: ExecutionSummary): SummaryView {
  return {
    object: 'execution',
    id: record.id,
    sandbox_id: record.sandboxId,
    status: record.status,
    exit_code: record.exitCode,
    truncated: record.truncated,
    oom_killed: record.oomKilled,
    duration_ms: record.durationMs,
    started_at: isoOf(record.startedAtMs),
    finished_at: isoOrNull(record.finishedAtMs),
  };
}
