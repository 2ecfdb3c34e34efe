import { AccountError, type FindAccountNeeds, findAccount } from '../accounts/find-account.ts';
import { type AccountWithBalance, type ManageAccountsNeeds, setSuspended } from '../accounts/manage-accounts.ts';
import type { AccountRecord } from '../ports/store/account-store.ts';
import { openStatuses, type SandboxRecord } from '../ports/store/sandbox-store.ts';
import { type DeleteNeeds, deleteSandboxAsOperator } from '../sandboxes/end.ts';
import type { ReadSandboxNeeds } from '../sandboxes/read.ts';

/** What listing the open sandboxes of accounts needs. */
type ListOpenNeeds = FindAccountNeeds & ReadSandboxNeeds;

/** What ending the sandboxes of any account needs. */
export type DestroySandboxNeeds = ListOpenNeeds & DeleteNeeds;

/** What suspending an account needs. */
export type SuspendNeeds = ListOpenNeeds &
  ManageAccountsNeeds & {
    /** Disconnects the visitors of a sandbox. */
    readonly previewTraffic: { disconnect(sandboxId: string): void };
  };

/** A sandbox and the account it belongs to. */
export interface OwnedSandbox {
  readonly account: AccountRecord;
  readonly sandbox: SandboxRecord;
}

/** The sandboxes that have not ended, of one account or of all, newest first. */
export async function listOpenSandboxes(core: ListOpenNeeds, email?: string): Promise<readonly OwnedSandbox[]> {
  const accounts = email === undefined ? await core.store.accounts.list() : [await findAccount(core, email)];
  const byId = new Map(accounts.map((account) => [account.id, account]));
  const open = await core.store.sandboxes.withStatus(openStatuses);
  return open
    .flatMap((sandbox) => {
      const account = byId.get(sandbox.accountId);
      return account === undefined ? [] : [{ account, sandbox }];
    })
    .sort((a, b) => b.sandbox.createdAtMs - a.sandbox.createdAtMs);
}

/** Ends one sandbox of any account. It is `deleting` if its teardown takes longer than the deadline and continues. */
export async function destroySandbox(core: DestroySandboxNeeds, id: string): Promise<OwnedSandbox> {
  const sandbox = await core.store.sandboxes.read(id);
  const account = (await core.store.accounts.list()).find((owner) => owner.id === sandbox?.accountId);
  if (sandbox === undefined || account === undefined) {
    throw new AccountError('unknown_sandbox', `There is no sandbox ${id}. List the sandboxes to see their ids.`);
  }
  if (sandbox.status === 'deleted') throw new AccountError('unknown_sandbox', `Sandbox ${id} is already deleted.`);
  return await destroy(core, { account, sandbox });
}

/** Ends every sandbox of an account, also if one of them cannot be ended. One that cannot be destroyed right away is retried in the background. */
export async function destroySandboxesOf(
  core: DestroySandboxNeeds,
  email: string,
  onDestroyed: (owned: OwnedSandbox) => void,
): Promise<readonly OwnedSandbox[]> {
  const open = await listOpenSandboxes(core, email);
  const ends = await Promise.allSettled(
    open.map(async (owned) => {
      const destroyed = await destroy(core, owned);
      onDestroyed(destroyed);
      return destroyed;
    }),
  );
  const failed = ends.find((end) => end.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
  return ends.flatMap((end) => (end.status === 'fulfilled' ? [end.value] : []));
}

async function destroy(core: DestroySandboxNeeds, { account, sandbox }: OwnedSandbox): Promise<OwnedSandbox> {
  const ended = await deleteSandboxAsOperator(core, sandbox);
  core.log.info({ sandbox_id: sandbox.id, account_id: account.id }, 'sandbox_destroyed_by_operator');
  return { account, sandbox: ended };
}

/**
 * Suspends an account: its requests are refused, and visitors of its previews are disconnected and refused, from now on. Its sandboxes keep
 * running. A resume reopens the previews under the same URLs.
 */
export async function suspendAccount(core: SuspendNeeds, email: string): Promise<AccountWithBalance> {
  const suspended = await setSuspended(core, email, true);
  for (const { sandbox } of await listOpenSandboxes(core, email)) core.previewTraffic.disconnect(sandbox.id);
  return suspended;
}
