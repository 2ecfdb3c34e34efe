import type { Core } from '../context.ts';
import { advance } from '../lifecycle/advance.ts';
import { teardown } from '../sandboxes/teardown.ts';

// What becomes of machines between two runs of the service. Machines do not outlive it here: adoption replaces this module.

/** At start: whatever an earlier run left unfinished is settled, as its machines are gone. */
export async function settleLeftBehind(core: Core): Promise<void> {
  const executions = await core.store.executions.failRunning(core.clock.nowMs());
  const left = await core.store.sandboxes.withStatus(['provisioning', 'running', 'deleting']);
  for (const sandbox of left) await advance(core, sandbox, { kind: 'service_restarted' });
  if (left.length > 0 || executions > 0) core.log.warn({ sandboxes: left.length, executions }, 'settled_after_crash');
}

/** At stop: every sandbox is ended and its machine destroyed; what was running in them fails. */
export async function destroyOwned(core: Core): Promise<void> {
  const owned = await core.store.sandboxes.withStatus(['provisioning', 'running', 'deleting']);
  await Promise.allSettled(
    owned.map(async (sandbox) => {
      const { sandbox: kept, before } = await advance(core, sandbox, { kind: 'service_stopping' });
      if (before === 'provisioning') core.creations.callOff(sandbox.id);
      else await teardown(core, kept);
    }),
  );
  await core.background.idle();
}
