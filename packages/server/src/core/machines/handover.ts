import type { Core } from '../context.ts';
import { recoverExecutions } from '../executions/recover.ts';
import { advance } from '../lifecycle/advance.ts';
import type { Machine } from '../ports/machine-driver.ts';
import type { SandboxRecord } from '../ports/store/sandbox-store.ts';
import { watchMachine } from '../sandboxes/machine-died.ts';
import { teardown } from '../sandboxes/teardown.ts';
import { endUnowned } from './end-unowned.ts';

/** At start: machines that an earlier run left alive are given back to their sandboxes; what has no machine is settled, and the other way round. */
export async function takeOver(core: Core): Promise<void> {
  const machines = new Map((await core.driver.adopt()).map((machine) => [machine.id, machine]));
  const lastAliveMs = (await core.store.owner.lastAliveMs()) ?? core.clock.nowMs();
  const open = await core.store.sandboxes.withStatus(['provisioning', 'running', 'deleting']);
  let adopted = 0;
  for (const sandbox of open) {
    const machine = takeMachine(machines, sandbox);
    if (machine) core.machines.add(sandbox.id, machine);
    if (machine && sandbox.status === 'running') {
      watchMachine(core, sandbox, machine);
      adopted += 1;
    } else {
      await settle(core, sandbox, lastAliveMs);
    }
  }
  await Promise.all(Array.from(machines.values(), (machine) => endUnowned(core, machine)));
  const executions = await recoverExecutions(core);
  core.metrics.tookOver('adopted', adopted);
  core.metrics.tookOver('settled', open.length - adopted);
  core.metrics.tookOver('unowned', machines.size);
  if (open.length + executions + machines.size > 0) {
    const settled = open.length - adopted;
    core.log.warn({ adopted, settled, executions, machines_without_record: machines.size }, 'taken_over');
  }
}

/** The machine of a sandbox, taken out: the one it was told to have, or one that was being launched for it. */
function takeMachine(machines: Map<string, Machine>, { id, machineId }: SandboxRecord): Machine | undefined {
  const name = machineId ?? id;
  const machine = machines.get(name);
  machines.delete(name);
  return machine;
}

/** Ends a sandbox that has no machine, or a machine that is not to be kept. One that would not go is tried again by itself. */
async function settle(core: Core, sandbox: SandboxRecord, lastAliveMs: number): Promise<void> {
  const restarted = { kind: 'service_restarted', lastAliveMs } as const;
  const kept = sandbox.status === 'deleting' ? sandbox : (await advance(core, sandbox, restarted)).sandbox;
  await teardown(core, kept).catch(() => {});
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
