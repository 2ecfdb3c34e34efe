import type { ListSandboxesQuery } from '@mayfly/contract';
import { ApiError, notFound } from '../errors/api-error.ts';
import type { AccountRecord } from '../ports/store/account-store.ts';
import type { SandboxRecord, SandboxStore } from '../ports/store/sandbox-store.ts';

/** What finding and listing sandboxes needs. */
export interface ReadSandboxNeeds {
  readonly store: { readonly sandboxes: SandboxStore };
}

export interface SandboxPage {
  readonly sandboxes: readonly SandboxRecord[];
  /** The creation time after which the next page starts; null on the last page. */
  readonly nextCursorMs: number | null;
}

/** One sandbox of the account, including a deleted one. A sandbox of another account is not found. */
export async function getSandbox(core: ReadSandboxNeeds, account: AccountRecord, id: string): Promise<SandboxRecord> {
  const sandbox = await core.store.sandboxes.find(account.id, id);
  if (sandbox === undefined) throw notFound('sandbox');
  return sandbox;
}

/** One page of the account's sandboxes, newest first. */
export async function listSandboxes(
  core: ReadSandboxNeeds,
  account: AccountRecord,
  query: ListSandboxesQuery,
): Promise<SandboxPage> {
  const found = await core.store.sandboxes.list(account.id, {
    limit: query.limit + 1,
    beforeMs: query.starting_after,
    includeDeleted: query.include_deleted,
  });
  const { items: sandboxes, nextCursorMs } = pageOf(found, query.limit);
  return { sandboxes, nextCursorMs };
}

/** The first `limit` items of those found, and the creation time after which the next page starts; null if nothing is left. */
export function pageOf<Item extends { readonly createdAtMs: number }>(
  found: readonly Item[],
  limit: number,
): { readonly items: readonly Item[]; readonly nextCursorMs: number | null } {
  const items = found.slice(0, limit);
  const last = found.length > limit ? items.at(-1) : undefined;
  return { items, nextCursorMs: last?.createdAtMs ?? null };
}

/** Throws unless the sandbox is running: 404 once it is deleted, else 409 with its status. */
export function requireRunning(sandbox: SandboxRecord): void {
  const refusal = refusalUnlessRunning(sandbox);
  if (refusal !== undefined) throw refusal;
}

/** Why an operation that needs a running sandbox is refused; undefined if the sandbox is running. */
export function refusalUnlessRunning({ id, status, statusReason }: SandboxRecord): ApiError | undefined {
  if (status === 'running') return undefined;
  if (status === 'deleted') return notFound('sandbox');
  const reason = statusReason === null ? '' : `, ${statusReason}`;
  const advice = status === 'provisioning' ? 'Wait until it is running.' : 'Create a new one.';
  return new ApiError('sandbox_not_running', `Sandbox ${id} is not running (status: ${status}${reason}). ${advice}`);
}
