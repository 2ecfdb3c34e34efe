import type { Core } from '../context.ts';
import { notFound } from '../errors/api-error.ts';
import type { AccountRecord } from '../ports/store/account-store.ts';
import { getSandbox } from '../sandboxes/get.ts';

/** Takes a port's public URL away and cuts what is open through it; 404 when it has none. */
export async function closePreview(core: Core, account: AccountRecord, sandboxId: string, port: number): Promise<void> {
  const { status } = await getSandbox(core, account, sandboxId);
  if (status !== 'running') throw notFound(`running sandbox (it is ${status})`);
  if (!(await core.store.previews.close(sandboxId, port))) throw notFound(`open preview of port ${port}`);
  core.previewTraffic.cut(sandboxId, port);
}
