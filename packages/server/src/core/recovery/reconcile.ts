import type { Core } from '../context.ts';
import { oneLine } from '../errors/api-error.ts';
import { advance } from '../lifecycle/advance.ts';
import type { LifecycleEvent } from '../lifecycle/decide.ts';
import type { MachineExit } from '../ports/machine-driver.ts';
import { openStatuses, type SandboxRecord } from '../ports/store/sandbox-store.ts';
import { teardownByDeadline } from '../sandboxes/end.ts';

/**
 * Repairs what a database outage left unfinished: a sandbox that is neither `running` nor ended and that no request works on, or one that is
 * `running` without a machine. One failure does not affect the others; the next call retries it. A
 * teardown in progress is left alone.
 */
export async function reconcile(core: Core): Promise<void> {
  const open = await core.store.sandboxes.withStatus(openStatuses);
  const suspects = open.filter(({ id, status }) => status !== 'running' || !core.machines.serves(id));
  await Promise.allSettled(suspects.map(({ id }) => reconcileSandbox(core, id)));
}

async function reconcileSandbox(core: Core, sandboxId: string): Promise<void> {
  if (core.createsInFlight.has(sandboxId) || core.teardowns.isRunning(sandboxId)) return;
  // Read again now that no create is in flight: no request changes it any more.
  const sandbox = await core.store.sandboxes.read(sandboxId);
  if (sandbox === undefined || (sandbox.status === 'running' && core.machines.serves(sandboxId))) return;
  await teardownByDeadline(core, await failSandbox(core, sandbox));
}

/** Fails a sandbox that is not ended: its machine died, or its create could not record how it ended. */
async function failSandbox(core: Core, sandbox: SandboxRecord): Promise<SandboxRecord> {
  if (sandbox.status !== 'provisioning' && sandbox.status !== 'running') return sandbox;
  const exit = await unrequestedExit(core, sandbox.id);
  const event: LifecycleEvent =
    exit !== undefined && sandbox.status === 'running'
      ? { kind: 'machine_died', reason: oneLine(exit.reason) }
      : { kind: 'provisioning_failed', reason: 'its create was interrupted' };
  const { sandbox: failed, changed } = await advance(core, sandbox, event);
  const ids = { sandbox_id: failed.id, account_id: failed.accountId };
  if (changed) core.log.warn({ ...ids, reason: failed.statusReason }, 'sandbox_reconciled');
  return failed;
}

/** How the machine of a sandbox exited without having been asked to; undefined if it did not. */
async function unrequestedExit(core: Core, sandboxId: string): Promise<MachineExit | undefined> {
  const live = core.machines.find(sandboxId);
  if (live === undefined) return undefined;
  const exit = await Promise.race([live.machine.exited, Promise.resolve(undefined)]);
  return exit?.requested === false ? exit : undefined;
}
