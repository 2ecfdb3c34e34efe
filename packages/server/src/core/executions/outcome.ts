import type { ExecuteResult } from '../ports/guest-agent.ts';
import type { ExecutionEnd } from '../ports/store/execution-store.ts';

const noOutput = new Uint8Array();

/** The stored outcome of a command that finished. Times are the host's, because the guest controls its own clock. */
export function finishedOutcome(result: ExecuteResult, startedAtMs: number, nowMs: number): ExecutionEnd {
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

/** The stored outcome of a command that was never started or whose result was lost. */
export function failedOutcome(nowMs: number): ExecutionEnd {
  return {
    status: 'failed',
    exitCode: null,
    stdout: noOutput,
    stderr: noOutput,
    truncated: false,
    oomKilled: false,
    durationMs: null,
    finishedAtMs: nowMs,
  };
}

/** Decodes output as UTF-8. Invalid bytes become U+FFFD; a character that the capture limit cut is dropped. */
export function decodeOutput(bytes: Uint8Array, truncated: boolean): string {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes, { stream: truncated });
}
