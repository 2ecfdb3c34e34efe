import type { RunCommandBody } from '@mayfly/contract';
import type { HeldResult } from '../budgets/held-result.ts';
import { type ExecuteResult, GuestUnreachable, NoRoom } from '../ports/guest-agent.ts';
import type { Ids } from '../ports/runtime.ts';
import type { AccountRecord } from '../ports/store/account-store.ts';
import type { ExecutionRecord, NewExecution } from '../ports/store/execution-store.ts';
import { type AdmitCommandNeeds, admitCommand } from './admit.ts';
import { type ApplyOutcomeNeeds, applyOutcome } from './apply-outcome.ts';
import { collectResult, resultGraceMs } from './collect.ts';
import { outputBytes } from './execution-records.ts';
import type { ExecutionsInFlight } from './in-flight.ts';
import { outcomeOf } from './outcome.ts';

/** What running a command needs. */
export type RunNeeds = AdmitCommandNeeds &
  ApplyOutcomeNeeds & {
    readonly ids: Ids;
    readonly executionsInFlight: ExecutionsInFlight;
  };

/**
 * Runs a command to its end and stores the result, even if the caller stops waiting for it. Room for a large result is reserved in `held`,
 * which the caller releases once it has sent the result.
 */
export async function runCommand(
  core: RunNeeds,
  account: AccountRecord,
  sandboxId: string,
  body: RunCommandBody,
  held: HeldResult,
): Promise<ExecutionRecord> {
  const leave = await admitCommand(core, account, sandboxId);
  const id = core.ids.next('exec');
  const startedAtMs = core.clock.nowMs();
  const execution: NewExecution = { id, accountId: account.id, sandboxId, startedAtMs, isLive: false };
  const work = core.executionsInFlight.track(id, execute(core, execution, body, held));
  return core.background.track(work.finally(leave));
}

async function execute(
  core: RunNeeds,
  execution: NewExecution,
  body: RunCommandBody,
  held: HeldResult,
): Promise<ExecutionRecord> {
  const receivedAtMs = performance.now();
  await core.turns.database.next(execution.accountId);
  await core.store.executions.insert(execution);
  const result = executeWithReconnect(core, execution, body, held);
  const outcome = await outcomeOf(result, execution.startedAtMs, core.clock);
  if (outcome.end !== undefined) held.shrinkTo(outputBytes(outcome.end));
  return await applyOutcome(core, execution, outcome, receivedAtMs);
}

/** Runs a command to its end. If the connection is lost while the machine lives, collects the result over a new one. */
async function executeWithReconnect(
  core: RunNeeds,
  { id, sandboxId }: NewExecution,
  { command, cwd, env, timeout_ms: givenMs }: RunCommandBody,
  held: HeldResult,
): Promise<ExecuteResult> {
  const { captureBytes, defaultCommandTimeoutMs } = core.limits;
  const timeoutMs = givenMs ?? defaultCommandTimeoutMs;
  const reserve = held.tryReserve;
  const live = core.machines.get(sandboxId);
  const deadlineAtMs = performance.now() + timeoutMs + resultGraceMs;
  const agent = await live.agent();
  try {
    return await live.whileAlive(agent.execute({ id, command, cwd, env, timeoutMs, captureBytes, reserve }));
  } catch (error) {
    if (error instanceof NoRoom) {
      // The agent keeps the result meanwhile. Room may be taken by other commands until they end.
      await held.reserve(error.neededBytes, timeoutMs + core.limits.maxCommandTimeoutMs);
    } else {
      if (!(error instanceof GuestUnreachable) || live.isLost) throw error;
      core.log.warn({ execution_id: id, sandbox_id: sandboxId, err: error }, 'execution_connection_lost');
    }
    // After a wait for room, there must be time left to collect the result.
    const collectByMs = error instanceof NoRoom ? performance.now() + resultGraceMs : 0;
    const deadlineMs = Math.max(deadlineAtMs, collectByMs);
    const options = { captureBytes, deadlineAtMs: deadlineMs, isLive: false, notFoundError: error, held };
    return await collectResult(live, id, options);
  }
}
