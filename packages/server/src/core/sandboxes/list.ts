import type { ListSandboxesQuery } from '@mayfly/contract';
import type { Core } from '../context.ts';
import type { AccountRecord } from '../ports/store/account-store.ts';
import type { SandboxRecord } from '../ports/store/sandbox-store.ts';

export interface SandboxPage {
  readonly sandboxes: readonly SandboxRecord[];
  /** The creation time to go on after; null on the last page. */
  readonly nextCursorMs: number | null;
}

/** One page of the account's sandboxes, newest first. */
export async function listSandboxes(
  core: Core,
  account: AccountRecord,
  query: ListSandboxesQuery,
): Promise<SandboxPage> {
  const found = await core.store.sandboxes.list(account.id, {
    limit: query.limit + 1,
    beforeMs: query.starting_after,
    includeDeleted: query.include_deleted,
  });
  const sandboxes = found.slice(0, query.limit);
  const last = sandboxes.at(-1);
  const hasMore = found.length > query.limit;
  return { sandboxes, nextCursorMs: hasMore && last !== undefined ? last.createdAtMs : null };
}
