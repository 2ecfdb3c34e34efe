import type { ListExecutionsQuery } from '@mayfly/contract';
import type { Core } from '../context.ts';
import { notFound } from '../errors/api-error.ts';
import type { AccountRecord } from '../ports/store/account-store.ts';
import type { ExecutionRecord, ExecutionSummary } from '../ports/store/execution-store.ts';
import { getSandbox } from '../sandboxes/read.ts';

export interface ExecutionListPage {
  readonly executions: readonly ExecutionSummary[];
  /** The id after which the next page starts; null on the last page. */
  readonly nextCursor: string | null;
}

/** One execution of the account. An execution of another account is not found. */
export async function getExecution(core: Core, account: AccountRecord, id: string): Promise<ExecutionRecord> {
  const execution = await core.store.executions.find(account.id, id);
  if (execution === undefined) throw notFound('execution');
  return execution;
}

/** One page of the executions in a sandbox, newest first, without output. */
export async function listExecutions(
  core: Core,
  account: AccountRecord,
  sandboxId: string,
  query: ListExecutionsQuery,
): Promise<ExecutionListPage> {
  await getSandbox(core, account, sandboxId);
  const page = { limit: query.limit + 1, afterId: query.starting_after };
  const found = await core.store.executions.list(sandboxId, page);
  const executions = found.slice(0, query.limit);
  return { executions, nextCursor: found.length > query.limit ? (executions.at(-1)?.id ?? null) : null };
}
