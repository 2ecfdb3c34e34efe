import { randomBytes } from 'node:crypto';
import { ApiError, notFound } from '../errors/api-error.ts';
import { encodeBase32 } from '../ids/random-ids.ts';
import type { Clock } from '../ports/runtime.ts';
import type { AccountRecord } from '../ports/store/account-store.ts';
import type { PreviewRecord, PreviewStore } from '../ports/store/preview-store.ts';
import { getSandbox, type ReadSandboxNeeds } from '../sandboxes/read.ts';
import type { PreviewTraffic } from './preview-traffic.ts';

/** What opening, closing and listing previews needs. */
export type ManagePreviewsNeeds = ReadSandboxNeeds & {
  readonly store: { readonly previews: PreviewStore };
  readonly clock: Clock;
  readonly previewTraffic: PreviewTraffic;
};

/** 160 random bits, encoded as one DNS label. */
const tokenBytes = 20;

/** Gives a port a public URL, or returns the one it already has. 404 unless the sandbox is running. */
export async function openPreview(
  core: ManagePreviewsNeeds,
  account: AccountRecord,
  sandboxId: string,
  port: number,
): Promise<PreviewRecord> {
  await checkRunning(core, account, sandboxId);
  const token = encodeBase32(randomBytes(tokenBytes));
  const opened = await core.store.previews.open({ sandboxId, port, token, createdAtMs: core.clock.nowMs() });
  if (opened !== undefined) return opened;
  throw new ApiError('not_found', `Sandbox ${sandboxId} is no longer running. Create a new one.`);
}

/** Closes the public URL of a port and disconnects its visitors. 404 if the port has none. */
export async function closePreview(
  core: ManagePreviewsNeeds,
  account: AccountRecord,
  sandboxId: string,
  port: number,
): Promise<void> {
  await checkRunning(core, account, sandboxId);
  if (!(await core.store.previews.close(sandboxId, port))) {
    throw new ApiError('not_found', `Port ${port} of sandbox ${sandboxId} has no open preview.`);
  }
  core.previewTraffic.disconnect(sandboxId, port);
}

/** The open previews of a sandbox, oldest first; none unless it is running. 404 once it is deleted. */
export async function listPreviews(
  core: ManagePreviewsNeeds,
  account: AccountRecord,
  sandboxId: string,
): Promise<readonly PreviewRecord[]> {
  const { status } = await getSandbox(core, account, sandboxId);
  if (status === 'deleted') throw notFound('sandbox');
  return status === 'running' ? core.store.previews.list(sandboxId) : [];
}

/** Throws 404 for a sandbox that is not running; unlike exec and files, the specification gives ports no 409. */
async function checkRunning(core: ManagePreviewsNeeds, account: AccountRecord, sandboxId: string): Promise<void> {
  const { status } = await getSandbox(core, account, sandboxId);
  if (status === 'running') return;
  throw new ApiError('not_found', `Sandbox ${sandboxId} is not running (status: ${status}).`);
}
