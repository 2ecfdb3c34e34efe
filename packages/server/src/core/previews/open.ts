import { randomBytes } from 'node:crypto';
import type { Core } from '../context.ts';
import { notFound } from '../errors/api-error.ts';
import { encodeBase32 } from '../ids/random-ids.ts';
import type { AccountRecord } from '../ports/store/account-store.ts';
import type { PreviewRecord } from '../ports/store/preview-store.ts';
import { getSandbox } from '../sandboxes/get.ts';

/** 160 random bits as one DNS label. */
const tokenBytes = 20;

/** Gives a port a public URL; the one it has if it is open already. 404 unless the sandbox runs. */
export async function openPreview(
  core: Core,
  account: AccountRecord,
  sandboxId: string,
  port: number,
): Promise<PreviewRecord> {
  const { status } = await getSandbox(core, account, sandboxId);
  if (status !== 'running') throw notFound(`running sandbox (it is ${status})`);
  const token = encodeBase32(randomBytes(tokenBytes));
  const opened = await core.store.previews.open({ sandboxId, port, token, createdAtMs: core.clock.nowMs() });
  if (opened === undefined) throw notFound('running sandbox');
  return opened;
}
