import type { Core } from '../context.ts';
import { oneLine } from '../errors/one-line.ts';
import { type ExecuteResult, GuestUnreachable, MachineLeft } from '../ports/guest-agent.ts';
import type { NewExecution } from '../ports/store/execution-store.ts';
import { graceMs, pickUp } from './deliver.ts';
import { failedEnd, resultEnd } from './end.ts';
import { forget } from './forget.ts';

/**
 * Commands that nobody sees to their end: an earlier service started them, or the database was away when they ended. Those whose machine
 * lives end with their whole output, others `failed`. Gives how many there were.
 */
export async function recoverExecutions(core: Core): Promise<number> {
  const open = (await core.store.executions.running()).filter(({ id }) => !core.executing.has(id));
  const alive = new Set(core.machines.ids());
  for (const execution of open) {
    if (alive.has(execution.sandboxId)) {
      core.executing.add(execution.id);
      void core.background.track(recover(core, execution).finally(() => core.executing.delete(execution.id)));
    } else {
      await core.store.executions.finish(execution.id, failedEnd(core.clock.nowMs()));
      core.metrics.commandRecovered('lost');
    }
  }
  return open.length;
}

async function recover(core: Core, execution: NewExecution): Promise<void> {
  const { id, sandboxId } = execution;
  const ids = { execution_id: id, sandbox_id: sandboxId, account_id: execution.accountId };
  const result = await collect(core, execution).catch((error: unknown) => asError(error));
  // Left to the next service once more.
  if (result instanceof MachineLeft) return;
  const nowMs = core.clock.nowMs();
  const isLost = result instanceof Error;
  try {
    await core.store.executions.finish(id, isLost ? failedEnd(nowMs) : resultEnd(result, execution.startedAtMs, nowMs));
  } catch (err) {
    // What the agent has it keeps, so the next call finds it again.
    core.log.error({ ...ids, err }, 'execution_end_unrecorded');
    return;
  }
  core.metrics.commandRecovered(isLost ? 'lost' : 'recovered');
  if (isLost) {
    core.log.warn({ ...ids, reason: oneLine(result) }, 'execution_lost');
  } else {
    core.log.info(ids, 'execution_recovered');
    await forget(core, id, sandboxId);
  }
}

async function collect(core: Core, { id, sandboxId }: NewExecution): Promise<ExecuteResult> {
  const lost = new GuestUnreachable('the machine does not know the command');
  const untilMs = performance.now() + core.limits.maxCommandTimeoutMs + graceMs;
  return await pickUp(core.machines.get(sandboxId), id, core.limits.captureBytes, untilMs, lost);
}

const asError = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)));
