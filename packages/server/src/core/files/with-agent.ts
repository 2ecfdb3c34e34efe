import type { Core } from '../context.ts';
import type { GuestAgent } from '../ports/guest-agent.ts';
import type { AccountRecord } from '../ports/store/account-store.ts';
import { getSandbox } from '../sandboxes/get.ts';
import { requireRunning } from '../sandboxes/require-running.ts';
import { type FileTask, fileFailure } from './failures.ts';

/** Who asks for what, where. */
export interface FileRequest {
  readonly account: AccountRecord;
  readonly sandboxId: string;
  readonly task: FileTask;
  /** Absolute. */
  readonly path: string;
}

/** Does something with the agent of a running sandbox; goes on, and is waited for at a stop, when the caller has gone. */
export async function withAgent<T>(
  core: Core,
  { account, sandboxId, task, path }: FileRequest,
  work: (agent: GuestAgent) => Promise<T>,
): Promise<T> {
  requireRunning(await getSandbox(core, account, sandboxId));
  try {
    const live = core.machines.get(sandboxId);
    const agent = await live.agent();
    return await core.background.track(live.whileAlive(work(agent)));
  } catch (error) {
    throw fileFailure(error, task, path);
  }
}
