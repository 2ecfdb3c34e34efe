import { setTimeout as wait } from 'node:timers/promises';
import type { RunCommandBody } from '@mayfly/contract';
import type { Core } from '../context.ts';
import type { LiveMachine } from '../machines/live-machine.ts';
import { type ExecuteResult, GuestRefusal, GuestUnreachable } from '../ports/guest-agent.ts';
import { withDeadline } from '../scheduling/deadline.ts';

/** How much longer than the command itself everything around it may take. */
export const graceMs = 30_000;

/** How long a connection that was lost is left alone before a new one is tried. */
const retryMs = 100;

/**
 * Runs a command in a sandbox to its end. When the connection is lost while the machine lives, the result is picked up over a new one:
 * the command did not notice.
 */
export async function deliver(
  core: Core,
  id: string,
  sandboxId: string,
  { command, cwd, env, timeout_ms: timeoutMs }: RunCommandBody,
): Promise<ExecuteResult> {
  const { captureBytes } = core.limits;
  const live = core.machines.get(sandboxId);
  const untilMs = performance.now() + timeoutMs + graceMs;
  const agent = await live.agent();
  try {
    return await live.whileAlive(agent.execute({ id, command, cwd, env, timeoutMs, captureBytes }));
  } catch (error) {
    if (!(error instanceof GuestUnreachable) || live.doomed) throw error;
    core.log.warn({ execution_id: id, sandbox_id: sandboxId, err: error }, 'execution_connection_lost');
    return await pickUp(live, id, captureBytes, untilMs, error);
  }
}

/** The result of a command that an earlier connection, or an earlier run of the service, started; fails with `lost` if there is none. */
export async function pickUp(
  live: LiveMachine,
  id: string,
  captureBytes: number,
  untilMs: number,
  lost: Error,
): Promise<ExecuteResult> {
  for (let failure = lost; ; ) {
    const leftMs = untilMs - performance.now();
    if (leftMs <= 0 || live.doomed) throw failure;
    try {
      return await withDeadline('the command', leftMs, resume(live, id, captureBytes));
    } catch (error) {
      if (error instanceof GuestRefusal && error.code === 'not_found') throw lost;
      if (!(error instanceof GuestUnreachable)) throw error;
      failure = error;
    }
    // A machine that is gone refuses at once, before anybody has heard of its end: without a pause nobody ever would.
    await live.whileAlive(wait(retryMs));
  }
}

async function resume(live: LiveMachine, id: string, captureBytes: number): Promise<ExecuteResult> {
  const agent = await live.agent();
  return await live.whileAlive(agent.resumeExecution(id, captureBytes));
}
