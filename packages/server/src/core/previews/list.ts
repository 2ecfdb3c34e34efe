import type { Core } from '../context.ts';
import type { AccountRecord } from '../ports/store/account-store.ts';
import type { PreviewRecord } from '../ports/store/preview-store.ts';
import { getSandbox } from '../sandboxes/get.ts';

/** The open previews of a sandbox, oldest first; none unless it runs. */
export async function listPreviews(
  core: Core,
  account: AccountRecord,
  sandboxId: string,
): Promise<readonly PreviewRecord[]> {
  const { status } = await getSandbox(core, account, sandboxId);
  return status === 'running' ? core.store.previews.list(sandboxId) : [];
}
