import { HeldResult } from '../budgets/held-result.ts';
import type { Places } from '../budgets/places.ts';
import type { SharedBudget } from '../budgets/shared-budget.ts';
import { oneLine } from '../errors/api-error.ts';
import { type AcknowledgeNeeds, acknowledgeResult, collectResult, resultGraceMs } from '../executions/collect.ts';
import type { ExecutionsInFlight } from '../executions/in-flight.ts';
import { endWithoutResult, isFinished, outcomeOf } from '../executions/outcome.ts';

import { type StoreOutcomeNeeds, storeOutcome } from '../executions/store-outcome.ts';
import { type ExecuteResult, GuestUnreachable } from '../ports/guest-agent.ts';
import type { Metrics } from '../ports/metrics.ts';
import type { Clock } from '../ports/runtime.ts';
import type { NewExecution } from '../ports/store/execution-store.ts';
import type { BackgroundTasks } from '../scheduling/background-tasks.ts';
import { forEachConcurrently } from '../scheduling/for-each-concurrently.ts';

/** What failing executions that nobody finishes needs. */
export interface FailExecutionsNeeds extends StoreOutcomeNeeds {
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly executionsInFlight: ExecutionsInFlight;
}

/** What finishing the executions of an earlier run needs. */
export interface RecoverExecutionsNeeds extends FailExecutionsNeeds, AcknowledgeNeeds {
  readonly background: BackgroundTasks;
  readonly budgets: { readonly resultBytes: SharedBudget };
  /** Where recovered commands that may run for long have places. */
  readonly backgroundCommands: Places;
}

/**
 * Finishes the `running` executions that no request waits for: an earlier run of the service started them, or the database was down when
 * they ended. If the machine is alive, the result is collected in the background; otherwise the execution is `failed`. Returns how many
 * there were.
 */
export async function recoverExecutions(core: RecoverExecutionsNeeds): Promise<number> {
  const abandoned = (await core.store.executions.running()).filter(({ id }) => !core.executionsInFlight.has(id));
  const served = new Set(core.machines.sandboxIds());
  const lost: NewExecution[] = [];
  for (const execution of abandoned) {
    if (served.has(execution.sandboxId)) recoverInBackground(core, execution);
    else lost.push(execution);
  }
  await forEachConcurrently(lost, 8, (execution) => failExecution(core, execution));
  return abandoned.length;
}

/**
 * Fails the `running` executions of a sandbox that no request waits for: its machine was replaced by one that did not start them. Never rejects: what
 * the database does not take is recovered later.
 */
export async function failAbandonedExecutions(core: FailExecutionsNeeds, sandboxId: string): Promise<void> {
  try {
    const running = await core.store.executions.running();
    const abandoned = running.filter((one) => one.sandboxId === sandboxId && !core.executionsInFlight.has(one.id));
    await forEachConcurrently(abandoned, 8, (execution) => failExecution(core, execution));
  } catch (err) {
    core.log.error({ sandbox_id: sandboxId, err }, 'execution_recording_failed');
  }
}

function recoverInBackground(core: RecoverExecutionsNeeds, execution: NewExecution): void {
  const place = execution.isLive && core.backgroundCommands.take(execution.accountId, execution.sandboxId);
  const work = core.executionsInFlight.track(execution.id, recover(core, execution));
  void core.background.track(typeof place === 'function' ? work.finally(place) : work);
}

async function failExecution(core: FailExecutionsNeeds, { id }: NewExecution): Promise<void> {
  await storeOutcome(core, id, endWithoutResult(core.clock.nowMs()));
  core.metrics.commandRecovered('lost');
}

async function recover(core: RecoverExecutionsNeeds, execution: NewExecution): Promise<void> {
  const { id, sandboxId, startedAtMs, accountId } = execution;
  using held = new HeldResult(core.budgets.resultBytes, accountId);
  const ids = { execution_id: id, sandbox_id: sandboxId, account_id: accountId };
  const outcome = await outcomeOf(collect(core, execution, held), startedAtMs, core.clock);
  // The next run, or the next call, can collect it.
  if (outcome.end === undefined) return;
  try {
    await storeOutcome(core, id, outcome.end);
  } catch (err) {
    // The agent keeps the result, so the next call can collect it again.
    core.log.error({ ...ids, err }, 'execution_recording_failed');
    return;
  }
  if (!isFinished(outcome)) {
    core.metrics.commandRecovered('lost');
    core.log.warn({ ...ids, reason: oneLine(outcome.error) }, 'execution_lost');
    return;
  }
  core.metrics.commandRecovered('recovered');
  core.log.info(ids, 'execution_recovered');
  await acknowledgeResult(core, id, sandboxId);
}

async function collect(
  core: RecoverExecutionsNeeds,
  { id, sandboxId, isLive }: NewExecution,
  held: HeldResult,
): Promise<ExecuteResult> {
  const { captureBytes, maxCommandTimeoutMs } = core.limits;
  const deadlineAtMs = isLive ? Infinity : performance.now() + maxCommandTimeoutMs + resultGraceMs;
  const notFoundError = new GuestUnreachable('the machine does not know the command');
  const options = { captureBytes, deadlineAtMs, isLive, notFoundError, held };
  return await collectResult(core.machines.get(sandboxId), id, options);
}
