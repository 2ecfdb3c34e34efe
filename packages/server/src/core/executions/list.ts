import type { ListExecutionsQuery } from '@mayfly/contract';
import type { Core } from '../context.ts';
import type { AccountRecord } from '../ports/store/account-store.ts';
import type { ExecutionSummary } from '../ports/store/execution-store.ts';
import { getSandbox } from '../sandboxes/get.ts';

export interface ExecutionListPage {
  readonly executions: readonly ExecutionSummary[];
  /** The id to go on after; null on the last page. */
  readonly nextCursor: string | null;
}

/** One page of what ran in a sandbox, newest first, without output. */
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
