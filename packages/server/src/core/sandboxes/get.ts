import type { Core } from '../context.ts';
import { notFound } from '../errors/api-error.ts';
import type { AccountRecord } from '../ports/store/account-store.ts';
import type { SandboxRecord } from '../ports/store/sandbox-store.ts';

/** One sandbox of the account, deleted or not. Other accounts' ids look unknown. */
export async function getSandbox(core: Core, account: AccountRecord, id: string): Promise<SandboxRecord> {
  const sandbox = await core.store.sandboxes.find(account.id, id);
  if (sandbox === undefined) throw notFound('sandbox');
  return sandbox;
}
