import { HeldResult } from '../budgets/held-result.ts';
import type { Core } from '../context.ts';
import { ApiError, oneLine } from '../errors/api-error.ts';
import { failedOutcome, finishedOutcome } from '../executions/outcome.ts';
import { acknowledgeResult, collectResult, resultGraceMs } from '../executions/run.ts';
import { storeOutcome } from '../executions/store-outcome.ts';
import { type ExecuteResult, GuestUnreachable, MachineDetached } from '../ports/guest-agent.ts';
import type { NewExecution } from '../ports/store/execution-store.ts';
import { forEachConcurrently } from '../scheduling/for-each-concurrently.ts';

/**
 * Finishes the `running` executions that no request waits for: an earlier run of the service started them, or the database was down when
 * they ended. If the machine is alive, the result is collected in the background; otherwise the execution is `failed`. Returns how many
 * there were.
 */
export async function recoverExecutions(core: Core): Promise<number> {
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
export async function failAbandonedExecutions(core: Core, sandboxId: string): Promise<void> {
  try {
    const running = await core.store.executions.running();
    const abandoned = running.filter((one) => one.sandboxId === sandboxId && !core.executionsInFlight.has(one.id));
    await forEachConcurrently(abandoned, 8, (execution) => failExecution(core, execution));
  } catch (err) {
    core.log.error({ sandbox_id: sandboxId, err }, 'execution_recording_failed');
  }
}

function recoverInBackground(core: Core, execution: NewExecution): void {
  const { id } = execution;
  core.executionsInFlight.add(id);
  void core.background.track(recover(core, execution).finally(() => core.executionsInFlight.delete(id)));
}

async function failExecution(core: Core, { id }: NewExecution): Promise<void> {
  await storeOutcome(core, id, failedOutcome(core.clock.nowMs()));
  core.metrics.commandRecovered('lost');
}

async function recover(core: Core, execution: NewExecution): Promise<void> {
  const { id, sandboxId, startedAtMs, accountId } = execution;
  using held = new HeldResult(core.budgets.resultBytes, accountId);
  const ids = { execution_id: id, sandbox_id: sandboxId, account_id: accountId };
  const result = await collect(core, execution, held).catch((error: unknown) => asError(error));
  // The machine was detached because the service stops: the next run recovers it.
  if (result instanceof MachineDetached) return;
  // There was no room for its output: the agent keeps it, so the next call can collect it.
  if (result instanceof ApiError) return;
  const nowMs = core.clock.nowMs();
  const isLost = result instanceof Error;
  try {
    await storeOutcome(core, id, isLost ? failedOutcome(nowMs) : finishedOutcome(result, startedAtMs, nowMs));
  } catch (err) {
    // The agent keeps the result, so the next call can collect it again.
    core.log.error({ ...ids, err }, 'execution_recording_failed');
    return;
  }
  core.metrics.commandRecovered(isLost ? 'lost' : 'recovered');
  if (isLost) {
    core.log.warn({ ...ids, reason: oneLine(result) }, 'execution_lost');
  } else {
    core.log.info(ids, 'execution_recovered');
    await acknowledgeResult(core, id, sandboxId);
  }
}

async function collect(core: Core, { id, sandboxId }: NewExecution, held: HeldResult): Promise<ExecuteResult> {
  const { captureBytes, maxCommandTimeoutMs } = core.limits;
  const deadlineAtMs = performance.now() + maxCommandTimeoutMs + resultGraceMs;
  const notFoundError = new GuestUnreachable('the machine does not know the command');
  return await collectResult(core.machines.get(sandboxId), id, { captureBytes, deadlineAtMs, notFoundError, held });
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
