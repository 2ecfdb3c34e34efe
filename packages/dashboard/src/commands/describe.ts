import type { ExecutionSummary } from '@mayfly/contract';
import { formatDuration } from '../parts/duration.ts';

/** A length of time, exact where it is short: "42 ms", "3.4 s", "2 min". */
export function formatLength(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  return ms < 60_000 ? `${(Math.floor(ms / 100) / 10).toFixed(1)} s` : formatDuration(ms);
}

export interface Result {
  readonly text: string;
  readonly kind: 'running' | 'good' | 'bad';
}

type Ending = Pick<ExecutionSummary, 'status' | 'exit_code' | 'oom_killed'>;

/** The signals that end commands, by their numbers. */
const signals: Readonly<Record<number, string>> = {
  1: 'HUP',
  2: 'INT',
  3: 'QUIT',
  6: 'ABRT',
  9: 'KILL',
  11: 'SEGV',
  13: 'PIPE',
  15: 'TERM',
};

/** What has become of a command, in few words. */
export function describeResult({ status, exit_code, oom_killed }: Ending): Result {
  if (status === 'running') return { text: 'Running', kind: 'running' };
  if (status === 'timeout') return { text: 'Timed out', kind: 'bad' };
  if (oom_killed) return { text: 'Out of memory', kind: 'bad' };
  if (status === 'failed') return { text: 'Failed', kind: 'bad' };
  if (exit_code === 0) return { text: 'Exit 0', kind: 'good' };
  const signal = exit_code === null ? undefined : signals[exit_code - 128];
  return {
    text: signal === undefined ? `Exit ${exit_code ?? 'unknown'}` : `Exit ${exit_code} (${signal})`,
    kind: 'bad',
  };
}

/** How long a command ran, or has been running; undefined if that is not known. */
export function lengthMs(
  { duration_ms, started_at, status }: Pick<ExecutionSummary, 'duration_ms' | 'started_at' | 'status'>,
  nowMs: number,
): number | undefined {
  if (duration_ms !== null) return duration_ms;
  if (status !== 'running' || started_at === null) return undefined;
  return Math.max(0, nowMs - Date.parse(started_at));
}
