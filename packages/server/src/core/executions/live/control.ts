import { type KillExecutionBody, signalNumbers } from '@mayfly/contract';
import { ApiError, oneLine } from '../../errors/api-error.ts';
import type { LiveMachine } from '../../machines/live-machine.ts';
import { publicReason } from '../../machines/public-reason.ts';
import type { MachineRegistry } from '../../machines/registry.ts';
import { type GuestAgent, GuestRefusal, GuestUnreachable } from '../../ports/guest-agent.ts';
import type { AccountRecord } from '../../ports/store/account-store.ts';
import type { ExecutionStore, ExecutionSummary } from '../../ports/store/execution-store.ts';
import { getSandbox, type ReadSandboxNeeds, requireRunning } from '../../sandboxes/read.ts';
import { getExecutionSummary } from '../execution-records.ts';

/** What acting on a running command needs. */
export type ControlNeeds = ReadSandboxNeeds & {
  readonly store: { readonly executions: ExecutionStore };
  readonly machines: MachineRegistry;
};

/** What is written to the standard input of a command, and whether it is closed then. */
export interface StdinBytes {
  readonly bytes: Uint8Array;
  readonly close: boolean;
}

/** Writes to the standard input of a command: all of the bytes, or none. */
export async function writeStdin(
  core: ControlNeeds,
  account: AccountRecord,
  id: string,
  { bytes, close }: StdinBytes,
): Promise<ExecutionSummary> {
  return await control(core, account, id, (agent) => agent.writeStdin(id, bytes, close));
}

/** Sends a signal to all processes of a command. */
export async function killExecution(
  core: ControlNeeds,
  account: AccountRecord,
  id: string,
  { signal }: KillExecutionBody,
): Promise<ExecutionSummary> {
  return await control(core, account, id, (agent) => agent.signalExecution(id, signalNumbers[signal]));
}

async function control(
  core: ControlNeeds,
  account: AccountRecord,
  id: string,
  act: (agent: GuestAgent) => Promise<void>,
): Promise<ExecutionSummary> {
  const execution = await getExecutionSummary(core, account, id);
  if (execution.status !== 'running') throw ended(execution);
  requireRunning(await getSandbox(core, account, execution.sandboxId));
  try {
    const live: LiveMachine = core.machines.get(execution.sandboxId);
    const agent = await live.agent();
    await live.whileAlive(act(agent));
  } catch (error) {
    throw refusalOf(error, id);
  }
  return execution;
}

function ended({ id, status }: Pick<ExecutionSummary, 'id' | 'status'>): ApiError {
  return new ApiError('execution_not_running', `Execution ${id} has ended (status: ${status}).`);
}

/** What the caller is told when the agent refuses or cannot be reached. */
function refusalOf(cause: unknown, id: string): unknown {
  if (cause instanceof GuestRefusal) {
    switch (cause.code) {
      case 'not_found':
      case 'refused':
        return new ApiError('execution_not_running', `Execution ${id} has ended, or its standard input is closed.`, {
          cause,
        });
      case 'bad_request':
        return new ApiError('execution_not_running', `Execution ${id} has no standard input that can be written to.`, {
          cause,
        });
      case 'too_many': {
        const message = `The command does not read its standard input: ${oneLine(cause)}. Nothing was accepted. Try again later.`;
        return new ApiError('rate_limit_exceeded', message, { cause });
      }
      default:
        return cause;
    }
  }
  if (!(cause instanceof GuestUnreachable)) return cause;
  const reason = publicReason(cause, 'the connection to the machine failed');
  return new ApiError('execution_failed', `The call may or may not have taken effect: ${reason}.`, { cause });
}
