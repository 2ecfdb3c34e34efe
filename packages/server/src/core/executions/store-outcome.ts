import type { Limits } from '@mayfly/contract';
import type { Log } from '../ports/runtime.ts';
import type { ExecutionEnd, ExecutionStore, StoredOutput } from '../ports/store/execution-store.ts';

/** What storing the outcome of a command needs. */
export interface StoreOutcomeNeeds {
  readonly store: { readonly executions: ExecutionStore };
  readonly limits: Limits;
  readonly log: Log;
}

const mebibyte = 1024 ** 2;

/** The stored output that an account has to lose; undefined if it is within its quota. Pure. */
function excessOutput(
  { totalBytes, ownLimitMb }: StoredOutput,
  storedOutputMb: number,
): { readonly maxBytes: number } | undefined {
  const maxBytes = (ownLimitMb ?? storedOutputMb) * mebibyte;
  return totalBytes > maxBytes ? { maxBytes } : undefined;
}

/** Stores how an execution ended. If the account exceeds its quota of stored output then, its oldest output is dropped. */
export async function storeOutcome(core: StoreOutcomeNeeds, id: string, end: ExecutionEnd): Promise<void> {
  const stored = await core.store.executions.finish(id, end);
  const excess = stored && excessOutput(stored, core.limits.storedOutputMb);
  if (stored === undefined || excess === undefined) return;
  const { accountId } = stored;
  try {
    const executions = await core.store.executions.dropOldestOutput(accountId, excess.maxBytes);
    core.log.debug({ account_id: accountId, executions }, 'output_dropped');
  } catch (err) {
    // The execution itself is stored; the next one of the account tries again.
    core.log.error({ account_id: accountId, err }, 'output_drop_failed');
  }
}
