import type { Core } from '../context.ts';
import { oneLine } from '../errors/one-line.ts';
import { advance } from '../lifecycle/advance.ts';
import type { LifecycleEvent } from '../lifecycle/decide.ts';
import type { MachineExit } from '../ports/machine-driver.ts';
import { openStatuses, type SandboxRecord } from '../ports/store/sandbox-store.ts';
import { teardown } from '../sandboxes/teardown.ts';

/**
 * Puts right what a database that failed for a while left half done: a sandbox that nobody works on any more though it is not over, or
 * whose machine is gone though it is `running`. One failure stops no other; the next call tries again.
 */
export async function reconcile(core: Core): Promise<void> {
  const open = await core.store.sandboxes.withStatus(openStatuses);
  const suspects = open.filter(({ id, status }) => status !== 'running' || !core.machines.serves(id));
  await Promise.allSettled(suspects.map(({ id }) => settle(core, id)));
}

async function settle(core: Core, sandboxId: string): Promise<void> {
  if (core.creations.outcomeOf(sandboxId) !== undefined) return;
  // Read once its create is over: whoever could still have moved it has done so.
  const sandbox = await core.store.sandboxes.read(sandboxId);
  if (sandbox === undefined || (sandbox.status === 'running' && core.machines.serves(sandboxId))) return;
  await teardown(core, await end(core, sandbox));
}

/** A machine that exited died; one that did not, or was never there, was given up by a create that could not say so. */
async function end(core: Core, sandbox: SandboxRecord): Promise<SandboxRecord> {
  if (sandbox.status !== 'provisioning' && sandbox.status !== 'running') return sandbox;
  const exit = await exitOf(core, sandbox.id);
  const event: LifecycleEvent =
    exit !== undefined && sandbox.status === 'running'
      ? { kind: 'machine_died', reason: oneLine(exit.reason) }
      : { kind: 'provisioning_failed', reason: 'its create was interrupted' };
  const { sandbox: kept, changed } = await advance(core, sandbox, event);
  if (changed)
    core.log.warn({ sandbox_id: kept.id, account_id: kept.accountId, reason: kept.statusReason }, 'reconciled');
  return kept;
}

/** How its machine ended by itself; undefined if it did not. */
async function exitOf(core: Core, sandboxId: string): Promise<MachineExit | undefined> {
  const live = core.machines.find(sandboxId);
  if (live === undefined) return undefined;
  const exit = await Promise.race([live.machine.exited, Promise.resolve(undefined)]);
  return exit?.requested === false ? exit : undefined;
}
