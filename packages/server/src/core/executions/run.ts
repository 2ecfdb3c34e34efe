import { setTimeout as wait } from 'node:timers/promises';
import type { RunCommandBody } from '@mayfly/contract';
import type { HeldResult } from '../budgets/held-result.ts';
import type { SharedBudget } from '../budgets/shared-budget.ts';
import { BudgetExceeded } from '../budgets/shared-budget.ts';
import { ApiError, oneLine } from '../errors/api-error.ts';
import type { LiveMachine } from '../machines/live-machine.ts';
import { publicReason } from '../machines/public-reason.ts';
import type { MachineRegistry } from '../machines/registry.ts';
import { type BalanceNeeds, requireCredit } from '../money/balance.ts';
import { type ExecuteResult, GuestRefusal, GuestUnreachable, NoRoom, type Reserve } from '../ports/guest-agent.ts';
import type { Metrics } from '../ports/metrics.ts';
import type { Ids, Log } from '../ports/runtime.ts';
import type { AccountRecord } from '../ports/store/account-store.ts';
import type { ExecutionRecord, NewExecution } from '../ports/store/execution-store.ts';
import type { SandboxRecord } from '../ports/store/sandbox-store.ts';
import { getSandbox, type ReadSandboxNeeds, requireRunning } from '../sandboxes/read.ts';
import type { BackgroundTasks } from '../scheduling/background-tasks.ts';
import { withDeadline } from '../scheduling/deadline.ts';
import type { FairTurns } from '../scheduling/fair-turns.ts';
import { outputBytes } from './execution-records.ts';
import { type CommandOutcome, type FailedCommand, isFinished, outcomeOf, type PendingCommand } from './outcome.ts';
import { type StoreOutcomeNeeds, storeOutcome } from './store-outcome.ts';

/** How much longer than the command's own timeout the host waits for its result. */
export const resultGraceMs = 30_000;

/** The pause before a lost connection to the agent is tried again. */
const reconnectPauseMs = 100;

/** What letting an agent drop a result needs. */
export interface AcknowledgeNeeds {
  readonly machines: MachineRegistry;
  readonly log: Log;
}

/** What running a command needs. */
export type RunNeeds = ReadSandboxNeeds &
  BalanceNeeds &
  StoreOutcomeNeeds &
  AcknowledgeNeeds & {
    readonly ids: Ids;
    readonly metrics: Metrics;
    readonly background: BackgroundTasks;
    readonly budgets: { readonly commands: SharedBudget };
    /** Records are written when it is the turn of the account. */
    readonly turns: { readonly database: FairTurns };
    /** Ids of the executions that this process runs or recovers. */
    readonly executionsInFlight: Set<string>;
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
  const sandbox = await getSandbox(core, account, sandboxId);
  requireRunning(sandbox);
  await requireCreditFor(core, account, sandbox);
  const { commands } = core.budgets;
  if (!commands.tryTake(account.id, 1)) await waitForTurn(core, account, sandboxId);
  const id = core.ids.next('exec');
  core.executionsInFlight.add(id);
  const execution: NewExecution = { id, accountId: account.id, sandboxId, startedAtMs: core.clock.nowMs() };
  return core.background.track(
    execute(core, execution, body, held).finally(() => {
      core.executionsInFlight.delete(id);
      commands.give(account.id, 1);
    }),
  );
}

async function requireCreditFor(core: RunNeeds, account: AccountRecord, sandbox: SandboxRecord): Promise<void> {
  if (sandbox.priceMicroUsdPerHour > 0) await requireCredit(core, account);
}

/** Waits until the account runs fewer commands than it may at once. Throws if the sandbox has ended or the credit is used up meanwhile. */
async function waitForTurn(core: RunNeeds, account: AccountRecord, sandboxId: string): Promise<void> {
  const { commands } = core.budgets;
  try {
    await commands.take(account.id, 1, core.limits.maxCommandTimeoutMs);
  } catch (cause) {
    if (!(cause instanceof BudgetExceeded)) throw cause;
    const limit = `${commands.perAccount} commands of this account are running`;
    throw new ApiError('rate_limit_exceeded', `Too many commands at once: ${limit}. Nothing ran. Try again later.`, {
      cause,
    });
  }
  try {
    const sandbox = await getSandbox(core, account, sandboxId);
    requireRunning(sandbox);
    await requireCreditFor(core, account, sandbox);
    // Its record may still say that it is running, for example while the service stops.
    if (!core.machines.serves(sandboxId)) throw new ApiError('execution_failed', 'Nothing ran: the machine is gone.');
  } catch (error) {
    commands.give(account.id, 1);
    throw error;
  }
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

/** Stores and reports what became of a command. Returns its record if it finished; throws what its caller is told if it did not. */
async function applyOutcome(
  core: RunNeeds,
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

function reportUnfinished(core: RunNeeds, ids: object, { kind, error }: FailedCommand | PendingCommand): void {
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

/** Runs a command to its end. If the connection is lost while the machine lives, collects the result over a new one. */
async function executeWithReconnect(
  core: RunNeeds,
  { id, sandboxId }: NewExecution,
  { command, cwd, env, timeout_ms: timeoutMs }: RunCommandBody,
  held: HeldResult,
): Promise<ExecuteResult> {
  const { captureBytes } = core.limits;
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
    return await collectResult(live, id, { captureBytes, deadlineAtMs: deadlineMs, notFoundError: error, held });
  }
}

export interface CollectOptions {
  readonly captureBytes: number;
  /** On the clock of `performance.now()`. */
  readonly deadlineAtMs: number;
  /** Thrown when the agent does not know the command, or at the deadline if the agent was never reached. */
  readonly notFoundError: Error;
  /** Where room for a large result is reserved. */
  readonly held: HeldResult;
}

/** Waits for the result of a command that an earlier connection, or an earlier run of the service, started. */
export async function collectResult(
  live: LiveMachine,
  id: string,
  { captureBytes, deadlineAtMs, notFoundError, held }: CollectOptions,
): Promise<ExecuteResult> {
  for (let failure = notFoundError; ; ) {
    const remainingMs = deadlineAtMs - performance.now();
    // Rejects with the reason for which the machine was lost, so that a detached one is told from a dead one.
    if (live.isLost) await live.agent();
    if (remainingMs <= 0) throw failure;
    try {
      const resume = () =>
        withDeadline('the command', remainingMs, resumeExecution(live, id, captureBytes, held.tryReserve));
      return await held.collect(resume);
    } catch (error) {
      if (error instanceof GuestRefusal && error.code === 'not_found') throw notFoundError;
      if (!(error instanceof GuestUnreachable)) throw error;
      failure = error;
    }
    // A machine that has exited refuses connections at once. Without a pause, this loop would keep its exit event from being handled.
    await live.whileAlive(wait(reconnectPauseMs));
  }
}

async function resumeExecution(
  live: LiveMachine,
  id: string,
  captureBytes: number,
  reserve: Reserve,
): Promise<ExecuteResult> {
  const agent = await live.agent();
  return await live.whileAlive(agent.resumeExecution(id, captureBytes, reserve));
}

/** Lets the agent drop a result that is stored. Optional: the agent drops its oldest results when it needs the room. */
export async function acknowledgeResult(core: AcknowledgeNeeds, id: string, sandboxId: string): Promise<void> {
  try {
    const agent = await core.machines.get(sandboxId).agent();
    await agent.forgetExecution(id);
  } catch (err) {
    core.log.debug({ execution_id: id, sandbox_id: sandboxId, err }, 'result_acknowledgement_failed');
  }
}
