import { fixedLimits, type RunCommandBody } from '@mayfly/contract';
import { HeldResult } from '../../budgets/held-result.ts';
import type { Places } from '../../budgets/places.ts';
import type { SharedBudget } from '../../budgets/shared-budget.ts';
import { ApiError } from '../../errors/api-error.ts';
import { type ExecuteResult, GuestRefusal, GuestUnreachable, type LiveOutput } from '../../ports/guest-agent.ts';
import type { AccountRecord } from '../../ports/store/account-store.ts';
import type { NewExecution } from '../../ports/store/execution-store.ts';
import { admitCommand, requireUsableSandbox } from '../admit.ts';
import { applyOutcome } from '../apply-outcome.ts';
import { collectResult, resultGraceMs } from '../collect.ts';
import { outcomeOf } from '../outcome.ts';
import type { RunNeeds } from '../run.ts';

/** What starting a live command needs. */
export type StartLiveNeeds = RunNeeds & {
  readonly budgets: { readonly resultBytes: SharedBudget };
  /** The background commands that are running. */
  readonly backgroundCommands: Places;
};

/** A live command that has started. */
export interface LiveCommand {
  readonly execution: NewExecution;
  /** Its output from the beginning; undefined if the connection was lost just then, and it has to be opened again. */
  readonly output: LiveOutput | undefined;
}

/** Starts a command whose output can be read while it runs, and stores its result when it ends. Nobody has to read or wait. */
export async function startLive(
  core: StartLiveNeeds,
  account: AccountRecord,
  sandboxId: string,
  body: RunCommandBody,
): Promise<LiveCommand> {
  const leave = body.background
    ? await admitInBackground(core, account, sandboxId)
    : await admitCommand(core, account, sandboxId);
  const id = core.ids.next('exec');
  const execution = { id, accountId: account.id, sandboxId, startedAtMs: core.clock.nowMs(), isLive: true };
  const started = Promise.withResolvers<LiveOutput | undefined>();
  const work = core.executionsInFlight.track(id, execute(core, execution, body, started.resolve));
  // Its failure is the caller's until it has started; then it is in the log and in the record.
  void core.background.track(work.finally(leave)).catch(started.reject);
  return { execution, output: await started.promise };
}

async function admitInBackground(core: StartLiveNeeds, account: AccountRecord, sandboxId: string): Promise<() => void> {
  await requireUsableSandbox(core, account, sandboxId);
  const leave = core.backgroundCommands.take(account.id, sandboxId);
  if (typeof leave !== 'string') return leave;
  const owner = leave === 'perSandbox' ? 'sandbox' : 'account';
  const count = core.backgroundCommands.limits[leave];
  throw new ApiError(
    'rate_limit_exceeded',
    `Too many background commands: ${count} of this ${owner} are running. Nothing ran. Kill one, then try again.`,
  );
}

async function execute(
  core: StartLiveNeeds,
  execution: NewExecution,
  body: RunCommandBody,
  onStart: (output: LiveOutput | undefined) => void,
): Promise<void> {
  const receivedAtMs = performance.now();
  using held = new HeldResult(core.budgets.resultBytes, execution.accountId);
  await core.turns.database.next(execution.accountId);
  await core.store.executions.insert(execution);
  const result = startAndCollect(core, execution, body, held, onStart);
  const outcome = await outcomeOf(result, execution.startedAtMs, core.clock);
  await applyOutcome(core, execution, outcome, receivedAtMs);
}

/** Starts the command and waits for its end. If the connection is lost while the machine lives, waits over a new one. */
async function startAndCollect(
  core: StartLiveNeeds,
  { id, sandboxId }: NewExecution,
  body: RunCommandBody,
  held: HeldResult,
  onStart: (output: LiveOutput | undefined) => void,
): Promise<ExecuteResult> {
  const { captureBytes } = core.limits;
  const { command, cwd, env, background } = body;
  const stdin = body.stdin ?? background;
  const timeoutMs = body.timeout_ms ?? (background ? 0 : core.limits.defaultCommandTimeoutMs);
  const live = core.machines.get(sandboxId);
  const agent = await live.agent();
  const { spoolBytes } = fixedLimits;
  let notFoundError = new GuestUnreachable('the machine does not know the command');
  try {
    const request = { id, command, cwd, env, timeoutMs, captureBytes, spoolBytes, stdin };
    onStart(await live.whileAlive(agent.startLive(request)));
  } catch (error) {
    if (error instanceof GuestRefusal && error.code === 'not_found') throw tooOld(error);
    if (!(error instanceof GuestUnreachable) || live.isLost) throw error;
    core.log.warn({ execution_id: id, sandbox_id: sandboxId, err: error }, 'execution_connection_lost');
    notFoundError = error;
    onStart(undefined);
  }
  const deadlineAtMs = timeoutMs === 0 ? Infinity : performance.now() + timeoutMs + resultGraceMs;
  return await collectResult(live, id, { captureBytes, deadlineAtMs, isLive: true, notFoundError, held });
}

/** The agent in a copy of an old snapshot is as old as the snapshot. */
function tooOld(cause: GuestRefusal): GuestRefusal {
  const message = 'this sandbox was copied from a snapshot of an earlier version, which has no live commands';
  return Object.assign(new GuestRefusal('bad_request', message), { cause });
}
