import { BudgetExceeded } from '../budgets/shared-budget.ts';
import { ApiError } from '../errors/api-error.ts';
import { type ExecuteResult, GuestRefusal, MachineDetached } from '../ports/guest-agent.ts';
import type { Clock } from '../ports/runtime.ts';
import type { ExecutionEnd } from '../ports/store/execution-store.ts';

/** A command that ran to its end, or until its timeout. */
interface FinishedCommand {
  readonly kind: 'completed' | 'timed_out';
  readonly end: ExecutionEnd;
}

/** A command that will never have a result. */
export interface FailedCommand {
  /** `refused`: the agent did not start it, and that is the caller's fault. `lost`: it may or may not have run. */
  readonly kind: 'refused' | 'lost';
  readonly end: ExecutionEnd;
  readonly error: unknown;
}

/** A command whose result can still be collected, so that its record stays `running`. */
export interface PendingCommand {
  /** `detached`: the service stops, and the next run collects it. `no_room`: it ran, and the agent keeps the result until there is room for it. */
  readonly kind: 'detached' | 'no_room';
  readonly end?: undefined;
  readonly error: unknown;
}

/** What became of a command, and how its record ends. */
export type CommandOutcome = FinishedCommand | FailedCommand | PendingCommand;

export function isFinished(outcome: CommandOutcome): outcome is FinishedCommand {
  return outcome.kind === 'completed' || outcome.kind === 'timed_out';
}

/** Error codes of the agent for requests that are the caller's fault. The command did not run. */
const callerErrors = new Set(['bad_cwd', 'arguments_too_large', 'bad_request']);

/** Waits for the result of a command. Returns what became of it. Never rejects. */
export async function outcomeOf(
  result: Promise<ExecuteResult>,
  startedAtMs: number,
  clock: Clock,
): Promise<CommandOutcome> {
  try {
    const finished = await result;
    const end = endOfFinished(finished, startedAtMs, clock.nowMs());
    return { kind: finished.timedOut ? 'timed_out' : 'completed', end };
  } catch (error) {
    if (error instanceof MachineDetached) return { kind: 'detached', error };
    if (isWithoutRoom(error)) return { kind: 'no_room', error };
    const isRefused = error instanceof GuestRefusal && callerErrors.has(error.code);
    return { kind: isRefused ? 'refused' : 'lost', end: endWithoutResult(clock.nowMs()), error };
  }
}

/** Whether the account holds so many large results that there was no room for another one. */
function isWithoutRoom(error: unknown): boolean {
  return error instanceof BudgetExceeded || (error instanceof ApiError && error.cause instanceof BudgetExceeded);
}

const noOutput = new Uint8Array();

/** The end of a command that has a result. Times are the host's, because the guest controls its own clock. */
function endOfFinished(result: ExecuteResult, startedAtMs: number, nowMs: number): ExecutionEnd {
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
    writtenBytes: result.writtenBytes,
  };
}

/** The end of a command that was never started or whose result was lost. */
export function endWithoutResult(nowMs: number): ExecutionEnd {
  return {
    status: 'failed',
    exitCode: null,
    stdout: noOutput,
    stderr: noOutput,
    truncated: false,
    oomKilled: false,
    durationMs: null,
    finishedAtMs: nowMs,
    writtenBytes: null,
  };
}

/** Decodes output as UTF-8. Invalid bytes become U+FFFD; a character that the capture limit cut is dropped. */
export function decodeOutput(bytes: Uint8Array, truncated: boolean): string {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes, { stream: truncated });
}
