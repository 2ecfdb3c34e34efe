import type { ListExecutionsQuery } from '@mayfly/contract';
import { type HeldResult, uncountedBytes } from '../budgets/held-result.ts';
import { notFound } from '../errors/api-error.ts';
import { NoRoom } from '../ports/guest-agent.ts';
import type { AccountRecord } from '../ports/store/account-store.ts';
import type { ExecutionRecord, ExecutionStore, ExecutionSummary } from '../ports/store/execution-store.ts';
import { getSandbox, type ReadSandboxNeeds } from '../sandboxes/read.ts';
import type { FairTurns } from '../scheduling/fair-turns.ts';

/** What reading executions needs. */
export type ReadExecutionNeeds = ReadSandboxNeeds & {
  readonly store: { readonly executions: ExecutionStore };
  /** Output is read when it is the turn of the account. */
  readonly turns: { readonly database: FairTurns };
};

export interface ExecutionListPage {
  readonly executions: readonly ExecutionSummary[];
  /** The id after which the next page starts; null on the last page. */
  readonly nextCursor: string | null;
}

/** One execution of the account, with room for its output in `held`. An execution of another account is not found. */
export function getExecution(
  core: ReadExecutionNeeds,
  account: AccountRecord,
  id: string,
  held: HeldResult,
): Promise<ExecutionRecord> {
  return held.collect(async () => {
    await core.turns.database.next(account.id);
    const execution = await core.store.executions.find(account.id, id);
    if (execution === undefined) throw notFound('execution');
    const bytes = outputBytes(execution);
    if (bytes > uncountedBytes && !held.tryReserve(bytes)) throw new NoRoom(bytes);
    return execution;
  });
}

/** One execution of the account without its output. An execution of another account is not found. */
export async function getExecutionSummary(
  core: { readonly store: { readonly executions: ExecutionStore } },
  account: AccountRecord,
  id: string,
): Promise<ExecutionSummary> {
  const execution = await core.store.executions.findSummary(account.id, id);
  if (execution === undefined) throw notFound('execution');
  return execution;
}

/** The size of an execution's output. */
export function outputBytes({ stdout, stderr }: Pick<ExecutionRecord, 'stdout' | 'stderr'>): number {
  return stdout.length + stderr.length;
}

/** One page of the executions in a sandbox, newest first, without output. */
export async function listExecutions(
  core: ReadExecutionNeeds,
  account: AccountRecord,
  sandboxId: string,
  query: ListExecutionsQuery,
): Promise<ExecutionListPage> {
  await getSandbox(core, account, sandboxId);
  const page = { limit: query.limit + 1, afterId: query.starting_after, status: query.status };
  const found = await core.store.executions.list(sandboxId, page);
  const executions = found.slice(0, query.limit);
  return { executions, nextCursor: found.length > query.limit ? (executions.at(-1)?.id ?? null) : null };
}
