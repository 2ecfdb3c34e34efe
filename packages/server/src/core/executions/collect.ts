import { setTimeout as wait } from 'node:timers/promises';
import type { HeldResult } from '../budgets/held-result.ts';
import type { LiveMachine } from '../machines/live-machine.ts';
import type { MachineRegistry } from '../machines/registry.ts';
import { type ExecuteResult, GuestRefusal, GuestUnreachable } from '../ports/guest-agent.ts';
import type { Log } from '../ports/runtime.ts';
import { withDeadline } from '../scheduling/deadline.ts';

/** How much longer than the command's own timeout the service waits for its result. */
export const resultGraceMs = 30_000;

/** The pause before a lost connection to the agent is tried again. */
const reconnectPauseMs = 100;

/** What letting an agent drop a result needs. */
export interface AcknowledgeNeeds {
  readonly machines: MachineRegistry;
  readonly log: Log;
}

export interface CollectOptions {
  readonly captureBytes: number;
  /** On the clock of `performance.now()`; infinite for a command that may run for as long as its machine. */
  readonly deadlineAtMs: number;
  /** Whether the command is live: its output is collected only when it has ended. */
  readonly isLive: boolean;
  /** Thrown when the agent does not know the command, or at the deadline if the agent was never reached. */
  readonly notFoundError: Error;
  /** Where room for a large result is reserved. */
  readonly held: HeldResult;
}

/** Waits for the result of a command that an earlier connection, or an earlier run of the service, started. */
export async function collectResult(
  live: LiveMachine,
  id: string,
  { captureBytes, deadlineAtMs, isLive, notFoundError, held }: CollectOptions,
): Promise<ExecuteResult> {
  const ask = async () => {
    const agent = await live.agent();
    const { tryReserve } = held;
    const result = isLive
      ? agent.awaitLiveEnd(id, captureBytes, tryReserve)
      : agent.resumeExecution(id, captureBytes, tryReserve);
    return await live.whileAlive(result);
  };
  for (let failure = notFoundError; ; ) {
    const remainingMs = deadlineAtMs - performance.now();
    // Rejects with the reason for which the machine was lost, so that a detached one is told from a dead one.
    if (live.isLost) await live.agent();
    if (remainingMs <= 0) throw failure;
    try {
      const inTime = () => (remainingMs === Infinity ? ask() : withDeadline('the command', remainingMs, ask()));
      return await held.collect(inTime);
    } catch (error) {
      if (error instanceof GuestRefusal && error.code === 'not_found') throw notFoundError;
      if (!(error instanceof GuestUnreachable)) throw error;
      failure = error;
    }
    // A machine that has exited refuses connections at once. Without a pause, this loop would keep its exit event from being handled.
    await live.whileAlive(wait(reconnectPauseMs));
  }
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
