import type { ExtendSandboxBody } from '@mayfly/contract';
import { limitsOf } from '../admission/account-limits.ts';
import type { Core } from '../context.ts';
import { advance } from '../lifecycle/advance.ts';
import type { AccountRecord } from '../ports/store/account-store.ts';
import type { SandboxRecord } from '../ports/store/sandbox-store.ts';
import { getSandbox } from './get.ts';
import { requireRunning } from './require-running.ts';

/** Lets a running sandbox live longer, as far as it may; tells its machine, too. */
export async function extendSandbox(
  core: Core,
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
  void core.background.track(tellMachine(core, sandbox));
  return sandbox;
}

/** The machine ends itself some time past its expiry when no host is there, so it has to know. */
async function tellMachine(core: Core, sandbox: SandboxRecord): Promise<void> {
  try {
    const agent = await core.machines.get(sandbox.id).agent();
    await agent.setExpiry(sandbox.expiresAtMs ?? 0);
  } catch (err) {
    core.log.warn({ sandbox_id: sandbox.id, account_id: sandbox.accountId, err }, 'expiry_not_delivered');
  }
}
