import type { ExtendSandboxBody } from '@mayfly/contract';
import { limitsOf } from '../accounts/account-limits.ts';
import { type AdvanceNeeds, advance } from '../lifecycle/advance.ts';
import type { MachineRegistry } from '../machines/registry.ts';
import type { Log } from '../ports/runtime.ts';
import type { AccountRecord } from '../ports/store/account-store.ts';
import type { SandboxRecord } from '../ports/store/sandbox-store.ts';
import type { BackgroundTasks } from '../scheduling/background-tasks.ts';
import { getSandbox, type ReadSandboxNeeds, requireRunning } from './read.ts';

/** What telling an agent the expiry of its sandbox needs. */
export interface SendExpiryNeeds {
  readonly machines: MachineRegistry;
  readonly log: Log;
}

/** What extending a sandbox needs. */
export interface ExtendNeeds extends ReadSandboxNeeds, AdvanceNeeds, SendExpiryNeeds {
  readonly background: BackgroundTasks;
}

/** Extends the lifetime of a running sandbox, up to the maximum of its account. */
export async function extendSandbox(
  core: ExtendNeeds,
  account: AccountRecord,
  id: string,
  body: ExtendSandboxBody,
): Promise<SandboxRecord> {
  const found = await getSandbox(core, account, id);
  requireRunning(found);
  const { maxTimeoutMinutes } = limitsOf(core.limits, account);
  const { sandbox } = await advance(core, found, {
    kind: 'extend_requested',
    additionalMinutes: body.additional_minutes,
    maxTimeoutMinutes,
  });
  requireRunning(sandbox);
  void core.background.track(sendExpiry(core, sandbox));
  return sandbox;
}

/** Tells the agent the expiry of its sandbox: without a service, the machine powers itself off some time after it. Never rejects. */
export async function sendExpiry(core: SendExpiryNeeds, sandbox: SandboxRecord): Promise<void> {
  try {
    await core.machines.get(sandbox.id).setExpiry(sandbox.expiresAtMs ?? 0);
  } catch (err) {
    core.log.warn({ sandbox_id: sandbox.id, account_id: sandbox.accountId, err }, 'expiry_update_failed');
  }
}
