import type { RunCommandBody } from '@mayfly/contract';
import type { Core } from '../context.ts';
import { ApiError } from '../errors/api-error.ts';
import { oneLine } from '../errors/one-line.ts';
import { requireCredit } from '../money/funds.ts';
import { type ExecuteResult, GuestRefusal, MachineLeft } from '../ports/guest-agent.ts';
import type { AccountRecord } from '../ports/store/account-store.ts';
import type { ExecutionEnd, ExecutionRecord, NewExecution } from '../ports/store/execution-store.ts';
import { getSandbox } from '../sandboxes/get.ts';
import { requireRunning } from '../sandboxes/require-running.ts';
import { deliver } from './deliver.ts';
import { failedEnd, resultEnd } from './end.ts';
import { forget } from './forget.ts';

/** Refusals of the agent that are the caller's fault; nothing ran. */
const callerFaults = new Set(['bad_cwd', 'arguments_too_large', 'bad_request']);

/** Runs a command to its end and keeps the result, whether or not the caller still waits for it. */
export async function runCommand(
  core: Core,
  account: AccountRecord,
  sandboxId: string,
  body: RunCommandBody,
): Promise<ExecutionRecord> {
  requireRunning(await getSandbox(core, account, sandboxId));
  await requireCredit(core, account);
  const id = core.ids.next('exec');
  core.executing.add(id);
  return core.background.track(execute(core, id, account, sandboxId, body).finally(() => core.executing.delete(id)));
}

async function execute(
  core: Core,
  id: string,
  account: AccountRecord,
  sandboxId: string,
  body: RunCommandBody,
): Promise<ExecutionRecord> {
  const beganAtMs = performance.now();
  const execution: NewExecution = { id, accountId: account.id, sandboxId, startedAtMs: core.clock.nowMs() };
  await core.store.executions.insert(execution);
  const ids = { execution_id: id, sandbox_id: sandboxId, account_id: account.id };
  let result: ExecuteResult;
  try {
    result = await deliver(core, id, sandboxId, body);
  } catch (error) {
    const refusal = refusalOf(error);
    if (refusal.type === 'invalid_request') core.log.info({ ...ids, reason: refusal.message }, 'execution_refused');
    else {
      core.log.warn({ ...ids, err: error }, 'execution_failed');
      core.metrics.commandFailed();
    }
    // A command in a machine that is left alive goes on; the next service collects its result.
    if (!(error instanceof MachineLeft)) await core.store.executions.finish(id, failedEnd(core.clock.nowMs()));
    throw refusal;
  }
  const end: ExecutionEnd = resultEnd(result, execution.startedAtMs, core.clock.nowMs());
  await core.store.executions.finish(id, end);
  const outcome = result.timedOut ? 'timeout' : 'completed';
  core.metrics.commandEnded(outcome, end.durationMs ?? 0, performance.now() - beganAtMs);
  void core.background.track(forget(core, id, sandboxId));
  core.log.debug(
    { ...ids, status: end.status, exit_code: end.exitCode, duration_ms: end.durationMs },
    'execution_ended',
  );
  return { ...execution, ...end };
}

function refusalOf(error: unknown): ApiError {
  if (error instanceof GuestRefusal && callerFaults.has(error.code)) {
    return new ApiError('invalid_request', oneLine(error), { cause: error });
  }
  return new ApiError('execution_failed', `the command may or may not have run: ${oneLine(error)}`, { cause: error });
}
