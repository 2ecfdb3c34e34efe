import type { Core } from '../context.ts';
import { advance } from '../lifecycle/advance.ts';
import { watchMachine } from '../sandboxes/machine-died.ts';
import { teardown } from '../sandboxes/teardown.ts';

/** At start: machines that an earlier run left alive are given back to their sandboxes; what has no machine is settled, and the other way round. */
export async function takeOver(core: Core): Promise<void> {
  const machines = new Map((await core.driver.adopt()).map((machine) => [machine.id, machine]));
  const executions = await core.store.executions.failRunning(core.clock.nowMs());
  const open = await core.store.sandboxes.withStatus(['provisioning', 'running', 'deleting']);
  let adopted = 0;
  for (const sandbox of open) {
    const machine = machines.get(sandbox.id);
    if (machine) core.machines.add(sandbox.id, machine);
    machines.delete(sandbox.id);
    if (machine && sandbox.status === 'running') {
      watchMachine(core, sandbox, machine);
      adopted += 1;
      continue;
    }
    await core.machines.destroy(sandbox.id);
    await advance(core, sandbox, { kind: 'service_restarted' });
  }
  await Promise.all(Array.from(machines.values(), (machine) => machine.destroy()));
  if (open.length + executions + machines.size > 0) {
    const settled = open.length - adopted;
    core.log.warn({ adopted, settled, executions, machines_without_record: machines.size }, 'taken_over');
  }
}

/** At stop: creates that are under way are called off, running machines stay alive for the next run. */
export async function leaveOwned(core: Core): Promise<void> {
  for (const sandbox of await core.store.sandboxes.withStatus(['provisioning'])) {
    await advance(core, sandbox, { kind: 'service_stopping' });
    core.creations.callOff(sandbox.id);
  }
  core.machines.leaveAll();
  await core.background.idle();
}

/** At a stop for good: every sandbox is ended and its machine destroyed; what was running in them fails. */
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
