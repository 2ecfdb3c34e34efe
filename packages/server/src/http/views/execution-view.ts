import type { Execution } from '@mayfly/contract';
import { decodeOutput } from '../../core/executions/decode-output.ts';
import type { ExecutionRecord } from '../../core/ports/store/execution-store.ts';

/** An execution as the interface shows it, output as text; `captureBytes` is what is kept of each stream. */
export function executionView(record: ExecutionRecord, captureBytes: number): Execution {
  const text = (bytes: Uint8Array) => decodeOutput(bytes, record.truncated && bytes.length >= captureBytes);
  return {
    object: 'execution',
    id: record.id,
    sandbox_id: record.sandboxId,
    status: record.status,
    exit_code: record.exitCode,
    stdout: text(record.stdout),
    stderr: text(record.stderr),
    truncated: record.truncated,
    duration_ms: record.durationMs,
    started_at: new Date(record.startedAtMs).toISOString(),
    finished_at: record.finishedAtMs === null ? null : new Date(record.finishedAtMs).toISOString(),
  };
}
