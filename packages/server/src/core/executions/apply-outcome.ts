import { ApiError, oneLine } from '../errors/api-error.ts';
import { publicReason } from '../machines/public-reason.ts';
import type { Metrics } from '../ports/metrics.ts';
import type { ExecutionRecord, NewExecution } from '../ports/store/execution-store.ts';
import type { BackgroundTasks } from '../scheduling/background-tasks.ts';
import type { FairTurns } from '../scheduling/fair-turns.ts';
import { type AcknowledgeNeeds, acknowledgeResult } from './collect.ts';
import { type CommandOutcome, type FailedCommand, isFinished, type PendingCommand } from './outcome.ts';
import { type StoreOutcomeNeeds, storeOutcome } from './store-outcome.ts';

/** What storing and reporting the outcome of a command needs. */
export type ApplyOutcomeNeeds = StoreOutcomeNeeds &
  AcknowledgeNeeds & {
    readonly metrics: Metrics;
    readonly background: BackgroundTasks;
    /** Records are written when it is the turn of the account. */
    readonly turns: { readonly database: FairTurns };
  };

/** Stores and reports what became of a command. Returns its record if it finished; throws what its caller is told if it did not. */
export async function applyOutcome(
  core: ApplyOutcomeNeeds,
  execution: NewExecution,
  outcome: CommandOutcome,
  receivedAtMs: number,
): Promise<ExecutionRecord> {
  const { id, sandboxId, accountId } = execution;
  const ids = { execution_id: id, sandbox_id: sandboxId, account_id: accountId };
  // Before anything is stored, because the database may not answer either.
  if (!isFinished(outcome)) reportUnfinished(core, ids, outcome);
  if (outcome.end !== undefined) {
    await core.turns.database.next(accountId);
    await storeOutcome(core, id, outcome.end);
  }
  if (!isFinished(outcome)) throw answerTo(outcome);
  const { end } = outcome;
  const status = outcome.kind === 'timed_out' ? 'timeout' : 'completed';
  core.metrics.commandEnded(status, end.durationMs ?? 0, performance.now() - receivedAtMs);
  void core.background.track(acknowledgeResult(core, id, sandboxId));
  core.log.debug({ ...ids, status, exit_code: end.exitCode, duration_ms: end.durationMs }, 'execution_ended');
  return { ...execution, ...end, outputDropped: false };
}

function reportUnfinished(core: ApplyOutcomeNeeds, ids: object, { kind, error }: FailedCommand | PendingCommand): void {
  if (kind === 'refused') {
    core.log.info({ ...ids, reason: oneLine(error) }, 'execution_refused');
    return;
  }
  core.log.warn({ ...ids, err: error }, 'execution_failed');
  core.metrics.commandFailed();
}

/** What the caller of a command without a result is told. */
function answerTo({ kind, error: cause }: FailedCommand | PendingCommand): ApiError {
  switch (kind) {
    case 'refused':
      // A semicolon separates the rules of a message, and this one quotes the request.
      return new ApiError('invalid_request', oneLine(cause).replaceAll(';', ','), { cause });
    case 'no_room': {
      const advice = 'Read the large responses that are open, then get the execution.';
      return new ApiError('execution_failed', `The command ran, but there was no room for its output. ${advice}`, {
        cause,
      });
    }
    case 'detached':
    case 'lost': {
      const reason = publicReason(cause, 'the connection to the machine failed');
      return new ApiError('execution_failed', `The command may or may not have run: ${reason}.`, { cause });
    }
  }
}
