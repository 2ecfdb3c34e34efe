import type { ExecuteResult } from '../ports/guest-agent.ts';
import type { ExecutionEnd } from '../ports/store/execution-store.ts';

const nothing = new Uint8Array();

/** How a command that ran to its end is kept. Times are the host's: the guest's clock is the guest's to set. */
export function resultEnd(result: ExecuteResult, startedAtMs: number, nowMs: number): ExecutionEnd {
  const finishedAtMs = Math.max(nowMs, startedAtMs);
  return {
    status: result.timedOut ? 'timeout' : 'completed',
    exitCode: result.timedOut ? 124 : result.exitCode,
    stdout: result.stdout,
    stderr: result.stderr,
    truncated: result.truncated,
    oomKilled: result.oomKilled,
    durationMs: Math.min(Math.max(Math.round(result.durationMs), 0), finishedAtMs - startedAtMs),
    finishedAtMs,
  };
}

/** How a command that was never started, or was lost, is kept. */
export function failedEnd(nowMs: number): ExecutionEnd {
  const unknown = { exitCode: null, durationMs: null, oomKilled: false };
  return { status: 'failed', stdout: nothing, stderr: nothing, truncated: false, finishedAtMs: nowMs, ...unknown };
}
